// One replay of each process tells what is looked at and what follows what in a stream.
#include "collector/ordering/needed_collectives.h"

#include <algorithm>
#include <optional>

#include "collector/ordering/collective_shape.h"
#include "collector/ordering/device_replay.h"

namespace ddpscope::ordering {
namespace {

using matching::CollectiveCall;
using matching::Collectives;
using matching::Communicator;
using matching::kNone;
using matching::Signature;

class Watching : public DeviceEvents {
 public:
  Watching(std::vector<bool>& watched, std::vector<std::uint32_t>& next) : watched_(watched), next_(next) {}

  void enqueued(std::uint32_t call, StreamNumber stream, const Streams& streams) override {
    Cover before = streams.cover_of(stream);
    for (std::size_t s = 0; s < before.size(); ++s)
      if (s != stream) watch(s, before[s]);
    if (streams_.size() <= stream) streams_.resize(stream + 1);
    if (!streams_[stream].empty()) next_[streams_[stream].back()] = call;
    streams_[stream].push_back(call);
  }

  void waited(const HostCall&, const Cover& cover, bool done) override {
    for (std::size_t s = 0; done && s < cover.size(); ++s) watch(s, cover[s]);
  }

 private:
  void watch(std::size_t stream, std::uint32_t upto) {
    if (upto) watched_[streams_[stream][upto - 1]] = true;
  }

  std::vector<bool>& watched_;
  std::vector<std::uint32_t>& next_;
  std::vector<std::vector<std::uint32_t>> streams_;  // calls of each
};

class Choice {
 public:
  Choice(const Collectives& collectives, const std::vector<bool>& watched,
         const std::vector<std::uint32_t>& next)
      : collectives_(collectives), watched_(watched), next_(next), needed_(collectives.calls.size(), true) {}

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
    const Signature& first = collectives_.call_at(communicator.members.front(), round).signature;
    for (const auto& member : communicator.members) {
      const Signature& own = collectives_.call_at(member, round).signature;
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
                         std::uint32_t call = member.calls[round], following = member.calls[round + 1];
                         return !watched_[call] && next_[call] == following &&
                                collectives_.calls[call].thread == collectives_.calls[following].thread;
                       });
  }

  const Collectives& collectives_;
  const std::vector<bool>& watched_;
  const std::vector<std::uint32_t>& next_;  // in its stream, by call
  std::vector<bool> needed_;
};

}  // namespace

std::vector<bool> find_needed_collectives(const model::Job& job, const Collectives& collectives) {
  std::vector<bool> watched(collectives.calls.size());
  std::vector<std::uint32_t> next(collectives.calls.size(), kNone);
  for (std::uint32_t process = 0; process < job.processes.size(); ++process) {
    if (collectives.first_of_process[process] == collectives.first_of_process[process + 1]) continue;
    Watching watching(watched, next);
    replay_device(job, collectives, process, watching);
  }
  return Choice(collectives, watched, next).take();
}

}  // namespace ddpscope::ordering
