// An event of several processes (cudaEventInterprocess): how often it was recorded, and how far streams have
// come.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "standin/cuda/shared_memory.h"
#include "standin/cuda/stream.h"

namespace ddpscope::standin {

class SharedEvent : public std::enable_shared_from_this<SharedEvent> {
 public:
  /// Fails with cudaErrorMemoryAllocation where no memory can be shared.
  static std::shared_ptr<SharedEvent> make();

  /// Another process's. Fails with cudaErrorInvalidResourceHandle.
  static std::shared_ptr<SharedEvent> open(const SharedRange& range);

  ~SharedEvent();

  SharedRange range() const;  ///< of an event that was made here

  /// A record of it: what the stream does when it comes by.
  Work record();

  /// The point of its latest record, by whichever process; null while there is none.
  std::shared_ptr<Point> latest();

 private:
  struct Cell;
  class Reached;

  SharedEvent(Cell* cell, std::uint64_t offset) : cell_(cell), offset_(offset) {}

  Cell* const cell_;
  const std::uint64_t offset_;  ///< kNotShareable: another process's
};

}  // namespace ddpscope::standin
