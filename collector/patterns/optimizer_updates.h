// Which launches run the optimizer, and how that is known.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "collector/model/job.h"
#include "collector/patterns/optimizer_names.h"

namespace ddpscope::patterns {

// A launch that begins an update, known by its kernel's name (range 0) or by the range in which it stands:
// what the program calls it, a string of its process.
struct Update {
  model::EventPlace launch = {};
  std::uint32_t range = 0;
};

// Ranges that are open, of one process whose records come in the order of time. The ring may have overwritten
// where they began.
class OpenRanges {
 public:
  explicit OpenRanges(const trace::TraceFile& file) : optimizer_(file, is_optimizer_range) {}

  void take(const trace::Record& range);
  // The name of an optimizer's range in which this thread is, 0: it is in none. What was started rather than
  // pushed holds for all threads.
  std::uint32_t optimizer(std::uint16_t thread) const;

 private:
  void push(std::uint16_t thread, std::uint32_t domain, std::uint32_t name);
  void pop(std::uint16_t thread, std::uint32_t domain);

  struct Pushed {
    std::uint32_t domain, name;  // 0: of something else
  };
  KnownNames optimizer_;
  std::unordered_map<std::uint16_t, std::vector<Pushed>> pushed_;  // by thread
  std::unordered_map<std::uint64_t, std::uint32_t> started_;       // optimizers' names, by id
};

// Of one process. Ranges count only if no kernel in it is called an optimizer's, and none of them holds an
// input that is copied to the device: those are steps as a whole.
class OptimizerUpdates {
 public:
  explicit OptimizerUpdates(const trace::TraceFile& file);

  // What take() wants to see, all of it and in the order of time.
  trace::OperationSet ranges() const { return by_range_ ? kRanges : trace::OperationSet{}; }
  void take(const trace::Record& range) { open_.take(range); }

  // Whether this launch runs the optimizer, of a kernel or (name 0) a graph.
  bool has(std::uint16_t thread, std::uint32_t name) {
    return by_range_ ? (range_ = open_.optimizer(thread)) != 0 : kernels_.has(name);
  }
  std::uint32_t range() const { return range_; }  // in which the last one stood for which it said yes

  static constexpr trace::OperationSet kRanges =
      trace::OperationSet::range(trace::Operation::kRangePush, trace::Operation::kRangeEnd);

 private:
  KnownNames kernels_;
  OpenRanges open_;
  bool by_range_;
  std::uint32_t range_ = 0;
};

}  // namespace ddpscope::patterns
