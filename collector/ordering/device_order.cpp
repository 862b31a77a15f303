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
      : job_(job),
        collectives_(collectives),
        process_(process),
        first_(collectives.first_of_process[process]),
        completions_(collectives.first_of_process[process + 1] - first_),
        next_of_member_(completions_.size(), kNone),
        out_(out) {
    find_next_of_member();
  }

  void finish() {
    add_open_messages();
    for (const Completion& completion : completions_) out_.completions.push_back(completion);
  }

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

  void find_next_of_member();
  void add_open_messages();
  void look_at(std::size_t stream, std::uint32_t upto) {
    if (upto) out_.looked_at[tracks_[stream].calls[upto - 1]] = true;
  }
  void mark(Track& track, std::uint32_t upto, const HostCall& call, std::uint32_t wait, bool done);

  const Job& job_;
  const Collectives& collectives_;
  std::uint32_t process_;
  std::uint32_t first_;                         // call of the process; the tables begin with it
  trace::Table<Completion> completions_;        // by call
  trace::Table<std::uint32_t> next_of_member_;  // likewise: the next collective of its communicator, or kNone
  DeviceOrder& out_;
  std::vector<Track> tracks_;  // by stream
};

void Marking::find_next_of_member() {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> last;  // by communicator and member
  for (std::uint32_t call = first_; call < collectives_.first_of_process[process_ + 1]; ++call) {
    const matching::CallForm& form = collectives_.calls.form(call);
    Operation operation = form.signature.operation;
    if (operation == Operation::kSend || operation == Operation::kReceive) continue;
    auto [found, fresh] = last.emplace(std::pair(form.communicator, form.member), call);
    if (!fresh) next_of_member_[std::exchange(found->second, call) - first_] = call;
  }
}

void Marking::enqueued(std::uint32_t call, StreamNumber stream, const Cover& before) {
  if (tracks_.size() <= stream) tracks_.resize(stream + 1);
  for (std::size_t s = 0; s < before.size(); ++s)
    if (s != stream) look_at(s, before[s]);
  std::vector<std::uint32_t>& calls = tracks_[stream].calls;
  if (!calls.empty()) {
    std::uint32_t last = calls.back();
    out_.followed[last] = next_of_member_[last - first_] == call &&
                          collectives_.calls.form(last).thread == collectives_.calls.form(call).thread;
  }
  calls.push_back(call);
}

// A poll that says "not yet" is no wait: a watchdog asks about everything.
void Marking::waited(const HostCall& call, const Cover& cover, bool done) {
  bool polls = call.operation == Operation::kStreamQuery || call.operation == Operation::kEventQuery;
  if (polls && !done) return;
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
  for (std::uint32_t i = std::min(track.done, by_thread); i < upto; ++i) {
    const matching::CallForm& call = collectives_.calls.form(track.calls[i]);
    Completion& completion = completions_[track.calls[i] - first_];
    if (call.thread == host_call.record->thread && completion.own_wait == kNone) completion.own_wait = wait;
    if (i < track.done) continue;
    // An abort releases those who wait: what they waited for is not complete. (Behind a shrink that aborts
    // the communicator can be used again.)
    std::int64_t aborted = collectives_.member_of(call).aborted_ns;
    if (collectives_.calls.begin_ns(track.calls[i]) >= aborted) aborted = kNever;
    if (done && out_.waits[wait].end_ns < aborted)
      completion.wait = wait;
    else if (out_.waits[wait].begin_ns < aborted && completion.blocked == kNone)
      completion.blocked = wait;
  }
  if (!done) return;
  track.done = std::max(track.done, upto);
  by_thread = std::max(by_thread, upto);
}

// A send or receive that has not returned waits for its peer itself: connections are made by their first use.
void Marking::add_open_messages() {
  for (std::uint32_t call = first_; call < collectives_.first_of_process[process_ + 1]; ++call) {
    Completion& completion = completions_[call - first_];
    Operation operation = collectives_.calls.signature(call).operation;
    bool message = operation == Operation::kSend || operation == Operation::kReceive;
    if (!message || completion.wait != kNone || completion.blocked != kNone) continue;
    if (collectives_.calls.enqueue_ns(call) < job_.processes[process_].last_ns) continue;
    matching::CollectiveCall open = collectives_.calls[call];
    if (job_.record(open.event).end) continue;
    completion.blocked = static_cast<std::uint32_t>(out_.waits.size());
    out_.waits.push_back({open.event, open.begin_ns, kNever, open.thread});
  }
}

}  // namespace

DeviceOrder find_device_order(const Job& job, const Collectives& collectives) {
  DeviceOrder order;
  order.looked_at.resize(collectives.calls.size());
  order.followed.resize(collectives.calls.size());
  for (std::uint32_t process = 0; process < job.processes.size(); ++process) {
    if (collectives.first_of_process[process] == collectives.first_of_process[process + 1]) continue;
    Marking marking(job, collectives, process, order);
    replay_device(job, collectives, process, marking);
    marking.finish();
  }
  return order;
}

}  // namespace ddpscope::ordering
