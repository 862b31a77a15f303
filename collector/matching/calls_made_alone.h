// What one side of a communicator has called alone, for the moment when the other side calls the same alone.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "collector/matching/collectives.h"

namespace ddpscope::matching {

struct CallMadeAlone {
  std::vector<std::uint32_t> odd;  // members of the smaller side
  bool by_odd;
  const CallForm* form;
  std::size_t place, place_of_other;  // where both sides stood
  std::size_t divergence;             // that tells of it, by number
};

class CallsMadeAlone {
 public:
  using Same = std::function<bool(const CallForm&, const CallForm&)>;
  explicit CallsMadeAlone(Same same) : same_(std::move(same)) {}

  // The other side made it alone shortly before: they run calls in another order. The number of the
  // divergence that tells so.
  std::optional<std::size_t> counterpart(const CallMadeAlone& call) const;
  std::optional<std::size_t> take_counterpart(const CallMadeAlone& call);
  // Of the last call of a side, when the other, which has no more calls, made it alone before, be it from
  // another place in the code.
  std::optional<std::size_t> take_counterpart_of_end(std::uint32_t maker, const CallForm& form,
                                                     std::size_t place);
  // True if it goes on with what is told already: a stretch that one side has alone.
  bool add(CallMadeAlone call);

 private:
  using Calls = std::vector<CallMadeAlone>;
  Calls::const_iterator find(const CallMadeAlone& call) const;
  std::optional<std::size_t> take(Calls::const_iterator found);
  bool is_near(const CallMadeAlone& before, std::size_t place) const;

  Same same_;
  Calls calls_;
};

}  // namespace ddpscope::matching
