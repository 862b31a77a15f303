// Communicator by communicator, each round beside the next.
#include "collector/ordering/needed_collectives.h"

#include <algorithm>
#include <optional>

#include "collector/ordering/collective_shape.h"

namespace ddpscope::ordering {
namespace {

using matching::CollectiveCall;
using matching::Collectives;
using matching::Communicator;
using matching::Signature;

class Choice {
 public:
  Choice(const Collectives& collectives, const DeviceOrder& device_order)
      : collectives_(collectives), device_order_(device_order), needed_(collectives.calls.size(), true) {}

  std::vector<bool> take() {
    for (const Communicator& communicator : collectives_.communicators) choose(communicator);
    return std::move(needed_);
  }

 private:
  void choose(const Communicator& communicator) {
    std::size_t rounds = communicator.members.empty() ? 0 : communicator.members.front().calls.size();
    for (const auto& member : communicator.members) rounds = std::min(rounds, member.calls.size());
    auto own = common(communicator, 0, rounds);
    for (std::size_t k = 0; k + 1 < rounds; ++k) {
      auto following = common(communicator, k + 1, rounds);
      bool repeated = own && following && orders_the_same(*own, *following);
      own = following;
      if (!repeated || !is_followed(communicator, k)) continue;
      for (const auto& member : communicator.members) needed_[member.calls[k]] = false;
    }
  }

  // What all members agree on as far as it concerns order.
  std::optional<Signature> common(const Communicator& communicator, std::size_t round,
                                  std::size_t rounds) const {
    if (round >= rounds) return std::nullopt;
    const Signature& first = collectives_.signature_at(communicator.members.front(), round);
    for (const auto& member : communicator.members) {
      const Signature& own = collectives_.signature_at(member, round);
      if (shape_of(own.operation) != shape_of(first.operation) || own.root != first.root) return std::nullopt;
    }
    return first;
  }

  static bool orders_the_same(const Signature& first, const Signature& second) {
    Shape shape = shape_of(second.operation);
    return shape == Shape::kAllToAll || (shape == shape_of(first.operation) && second.root == first.root);
  }

  bool is_followed(const Communicator& communicator, std::size_t round) const {
    return std::all_of(communicator.members.begin(), communicator.members.end(),
                       [&](const matching::Member& member) {
                         std::uint32_t call = member.calls[round];
                         return !device_order_.looked_at[call] && device_order_.followed[call];
                       });
  }

  const Collectives& collectives_;
  const DeviceOrder& device_order_;
  std::vector<bool> needed_;
};

}  // namespace

std::vector<bool> find_needed_collectives(const Collectives& collectives, const DeviceOrder& device_order) {
  return Choice(collectives, device_order).take();
}

}  // namespace ddpscope::ordering
