// Marks collectives as the waits of their process's host cover them.
#include "collector/ordering/device_order.h"

#include <algorithm>
#include <map>
#include <utility>

#include "collector/ordering/device_replay.h"

namespace ddpscope::ordering {
namespace {

using matching::Collectives;
using matching::kNone;
using model::Job;
using trace::Operation;

class Marking : public DeviceEvents {
 public:
  Marking(const Job& job, const Collectives& collectives, std::uint32_t process, DeviceOrder& out)
      : job_(job), collectives_(collectives), process_(process), out_(out) {}

  void enqueued(std::uint32_t call, StreamNumber stream, const Cover& before) override;
  void waited(const HostCall& wait, const Cover& cover, bool done) override;

 private:
  // The collectives of a stream, and how many of them, from the first, are known to be done: to anybody, and
  // to each thread by waits of its own.
  struct Track {
    std::vector<std::uint32_t> calls;
    std::uint32_t done = 0;
    std::map<std::uint16_t, std::uint32_t> done_by_thread;
  };

  void look_at(std::size_t stream, std::uint32_t upto) {
    if (upto) out_.looked_at[tracks_[stream].calls[upto - 1]] = true;
  }
  void mark(Track& track, std::uint32_t upto, const HostCall& call, std::uint32_t wait, bool done);

  const Job& job_;
  const Collectives& collectives_;
  std::uint32_t process_;
  DeviceOrder& out_;
  std::vector<Track> tracks_;  // by stream
};

void Marking::enqueued(std::uint32_t call, StreamNumber stream, const Cover& before) {
  if (tracks_.size() <= stream) tracks_.resize(stream + 1);
  for (std::size_t s = 0; s < before.size(); ++s)
    if (s != stream) look_at(s, before[s]);
  std::vector<std::uint32_t>& calls = tracks_[stream].calls;
  if (!calls.empty()) out_.next_in_stream[calls.back()] = call;
  calls.push_back(call);
}

void Marking::waited(const HostCall& call, const Cover& cover, bool done) {
  for (std::size_t s = 0; done && s < cover.size(); ++s) look_at(s, cover[s]);
  bool news = false;
  for (std::size_t s = 0; s < cover.size() && s < tracks_.size(); ++s)
    news = news || tracks_[s].done_by_thread[call.record->thread] < cover[s] || tracks_[s].done < cover[s];
  if (!news) return;
  auto wait = static_cast<std::uint32_t>(out_.waits.size());
  std::int64_t end = done ? job_.time_ns(process_, call.record->end) : kNever;
  out_.waits.push_back({{process_, call.place}, call.begin_ns, end, call.record->thread});
  for (std::size_t s = 0; s < cover.size() && s < tracks_.size(); ++s)
    mark(tracks_[s], cover[s], call, wait, done);
}

void Marking::mark(Track& track, std::uint32_t upto, const HostCall& host_call, std::uint32_t wait,
                   bool done) {
  std::uint32_t& by_thread = track.done_by_thread[host_call.record->thread];
  // A poll that says "not yet" is no wait: a watchdog asks about everything.
  bool waits = done || (host_call.operation != Operation::kStreamQuery &&
                        host_call.operation != Operation::kEventQuery);
  for (std::uint32_t i = std::min(track.done, by_thread); waits && i < upto; ++i) {
    const auto& call = collectives_.calls[track.calls[i]];
    Completion& completion = out_.completions[track.calls[i]];
    if (call.thread == host_call.record->thread && completion.own_wait == kNone) completion.own_wait = wait;
    if (i < track.done) continue;
    // An abort releases those who wait: what they waited for is not complete.
    std::int64_t aborted = collectives_.member_of(call).aborted_ns;
    if (done && out_.waits[wait].end_ns < aborted)
      completion.wait = wait;
    else if (out_.waits[wait].begin_ns < aborted && completion.blocked == kNone)
      completion.blocked = wait;
  }
  if (!done) return;
  track.done = std::max(track.done, upto);
  by_thread = std::max(by_thread, upto);
}

// Those that stand before one collective when it is enqueued.
class Predecessors : public DeviceEvents {
 public:
  explicit Predecessors(std::uint32_t wanted) : wanted_(wanted) {}

  void enqueued(std::uint32_t call, StreamNumber stream, const Cover& before) override {
    for (std::size_t s = 0; call == wanted_ && s < before.size() && s < tracks_.size(); ++s)
      found.insert(found.end(), tracks_[s].begin(), tracks_[s].begin() + before[s]);
    if (tracks_.size() <= stream) tracks_.resize(stream + 1);
    tracks_[stream].push_back(call);
  }
  void waited(const HostCall&, const Cover&, bool) override {}

  std::vector<std::uint32_t> found;

 private:
  std::uint32_t wanted_;
  std::vector<std::vector<std::uint32_t>> tracks_;  // by stream
};

}  // namespace

DeviceOrder find_device_order(const Job& job, const Collectives& collectives) {
  DeviceOrder order;
  order.completions.resize(collectives.calls.size());
  order.next_in_stream.resize(collectives.calls.size(), kNone);
  order.looked_at.resize(collectives.calls.size());
  for (std::uint32_t process = 0; process < job.processes.size(); ++process) {
    if (collectives.first_of_process[process] == collectives.first_of_process[process + 1]) continue;
    Marking marking(job, collectives, process, order);
    replay_device(job, collectives, process, marking);
  }
  return order;
}

std::vector<std::uint32_t> find_collectives_before(const Job& job, const Collectives& collectives,
                                                   std::uint32_t call) {
  Predecessors predecessors(call);
  replay_device(job, collectives, collectives.calls[call].event.process, predecessors);
  return std::move(predecessors.found);
}

}  // namespace ddpscope::ordering
