// When each member of a communicator began to make it, and when its host knew that it was there.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"
#include "collector/ordering/graph.h"

namespace ddpscope::ordering {

// Of one process.
class CommunicatorMakings {
 public:
  CommunicatorMakings(const model::Job& job, std::uint32_t process);

  // The call that takes part in the rendezvous.
  Span making(const matching::Member& member) const;
  // The call after which the host knows that the communicator is there: itself, the end of the outermost
  // group around it, or the first answer that a non-blocking one is ready. Nothing: it never knew.
  std::optional<Span> known(const matching::Member& member) const;
  std::optional<Span> known(const trace::Record& made) const;  // by the call that makes it and did not fail
  // When the host went on behind that call: its own return, or that of the outermost group around it. The
  // largest time if that never came.
  std::int64_t returned_ns(const trace::Record& made) const;

 private:
  struct Group {
    Span span;  // of one that never returned: until its end was called
    bool returned;
    bool complete;  // all that was begun in it was done when it returned
  };

  const Group* group_around(const trace::Record& record) const;  // none: nullptr
  std::int64_t ns(std::uint64_t ticks) const { return job_.time_ns(process_, ticks); }
  Span span(const trace::Record& record) const;
  void see(const trace::Record& record);

  const model::Job& job_;
  std::uint32_t process_;
  std::map<std::uint16_t, std::int64_t> opened_;
  std::vector<Group> groups_;
  std::map<std::uint32_t, Span> ready_;  // by the communicator's number: the first answer that it is
};

}  // namespace ddpscope::ordering
