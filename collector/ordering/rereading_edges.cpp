// A small file that one thread reads again and again, with nothing else in between, while another rank writes
// it.
#include <fcntl.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "collector/ordering/file_edges.h"
#include "collector/ordering/poll_edges.h"

namespace ddpscope::ordering {
namespace {

using files::FileEvent;
using files::kNoName;
using files::Name;
using trace::Operation;

constexpr std::uint64_t kSmall = 4096;  // bytes of a file that says whether something is ready

// The file read once, from its start.
struct Pass {
  std::vector<std::size_t> events;  // opening and reads
  std::uint64_t bytes = 0;
};

// One after the other by one thread, with nothing else in between.
struct Run {
  Name name = kNoName;
  std::vector<Pass> passes;
};

// Moments at which a thread does what is no waiting: it computes, or hears from others by other means.
bool is_other_work(const trace::Record& record) {
  const trace::CallInfo* info = trace::find_call(record.call);
  if (!info) return false;
  switch (info->payload) {
    case trace::PayloadKind::kCollective:
    case trace::PayloadKind::kLaunch:
    case trace::PayloadKind::kCopy:
    case trace::PayloadKind::kHandOver:
      return true;
    default:
      return trace::operation_of(record.call) == Operation::kStreamReceive;
  }
}

class Rereading {
 public:
  Rereading(const model::Job& job, const files::SharedNames& names, Graph& graph,
            std::vector<bool>& synchronises)
      : job_(job), names_(names), graph_(graph), synchronises_(synchronises) {}

  void add() {
    for (std::size_t i = 0; i < names_.events.size(); ++i) see(i);
    for (auto& [thread, run] : running_) finish(thread, run);
    for (const auto& [thread, run] : runs_)
      if (run.passes.size() > kPolls && is_written_during(thread, run)) awaited_.insert(run.name);
    for (const auto& [thread, run] : runs_)
      if (awaited_.contains(run.name)) wait_for_writers(thread, run);
  }

 private:
  const FileEvent& event(std::size_t index) const { return names_.events[index]; }

  void see(std::size_t index) {
    const FileEvent& at = event(index);
    note_writing(at);
    bool looks = files::is_look(at) && (at.error || at.operation != Operation::kOpen);
    if (looks || files::lists(at.operation) || at.operation == Operation::kClose) return;
    ThreadId thread = span_of(at).thread;
    Run& run = running_[thread];
    bool opens = at.operation == Operation::kOpen && (at.flags & O_ACCMODE) == O_RDONLY;
    bool goes_on = run.name == at.name && (opens || at.operation == Operation::kRead);
    if (!goes_on) finish(thread, run);
    if (opens)
      begin(run, at.name);
    else if (!goes_on)
      return;
    else if (at.from == 0 && run.passes.back().bytes > 0)
      begin(run, at.name);
    run.passes.back().events.push_back(index);
    run.passes.back().bytes += at.bytes;
  }

  static void begin(Run& run, Name name) {
    run.name = name;
    run.passes.emplace_back();
  }

  void note_writing(const FileEvent& at) {
    std::pair opening{at.event.process, at.opening};
    bool truncates = at.operation == Operation::kTruncate ||
                     (at.operation == Operation::kOpen && !at.error && at.flags & O_TRUNC);
    if (at.operation == Operation::kWrite) wrote_.insert(opening);
    bool flushes = at.operation == Operation::kClose && wrote_.contains(opening);
    if (at.operation == Operation::kWrite || truncates || flushes) written_[at.name].push_back(&at);
  }

  // In parts, where the thread did something else in between.
  void finish(ThreadId thread, Run& run) {
    Run part{run.name, {}};
    for (Pass& pass : run.passes) {
      if (pass.bytes > kSmall) continue;
      bool apart = !part.passes.empty() && works_between(thread, end_of(part.passes.back()), begin_of(pass));
      if (apart) runs_.emplace_back(thread, std::exchange(part, {run.name, {}}));
      part.passes.push_back(std::move(pass));
    }
    if (!part.passes.empty()) runs_.emplace_back(thread, std::move(part));
    run = {};
  }

  std::int64_t begin_of(const Pass& pass) const { return event(pass.events.front()).begin_ns; }
  std::int64_t end_of(const Pass& pass) const { return event(pass.events.back()).end_ns; }

  using Times = std::vector<std::int64_t>;  // ascending

  std::map<std::uint16_t, Times> work_of(std::uint32_t process) const {
    std::map<std::uint16_t, Times> work;
    model::for_each_in_time(job_.processes[process].file,
                            [&](model::EventPlace place, const trace::Record& record) {
                              if (is_other_work(record))
                                work[record.thread].push_back(job_.begin_ns({process, place}));
                            });
    return work;
  }

  bool works_between(ThreadId thread, std::int64_t from_ns, std::int64_t to_ns) {
    auto known = work_.find(thread.process);
    if (known == work_.end()) known = work_.emplace(thread.process, work_of(thread.process)).first;
    const Times& times = known->second[thread.thread];
    auto next = std::lower_bound(times.begin(), times.end(), from_ns);
    return next != times.end() && *next < to_ns;
  }

  template <class Visit>
  void for_each_writing(ThreadId reader, Name name, std::int64_t until_ns, Visit visit) const {
    auto known = written_.find(name);
    if (known == written_.end()) return;
    for (const FileEvent* write : known->second)
      if (write->event.process != reader.process && write->end_ns <= until_ns + job_.clock_error_ns)
        visit(*write);
  }

  bool is_written_during(ThreadId thread, const Run& run) const {
    bool during = false;
    for_each_writing(thread, run.name, end_of(run.passes.back()), [&](const FileEvent& write) {
      during = during || write.end_ns > begin_of(run.passes.front());
    });
    return during;
  }

  void wait_for_writers(ThreadId thread, const Run& run) {
    std::map<ThreadId, const FileEvent*> latest;
    const FileEvent& last = event(run.passes.back().events.back());
    for_each_writing(thread, run.name, last.end_ns, [&](const FileEvent& write) {
      const FileEvent*& known = latest[span_of(write).thread];
      if (!known || known->end_ns < write.end_ns) known = &write;
    });
    for (const auto& [writer, write] : latest)
      graph_.edge(graph_.through(span_of(*write)), graph_.after(span_of(last)), EdgeKind::kFile,
                  Trust::kUnseen);
    for (const Pass& pass : run.passes)
      for (std::size_t index : pass.events) synchronises_[index] = true;
  }

  const model::Job& job_;
  const files::SharedNames& names_;
  Graph& graph_;
  std::vector<bool>& synchronises_;
  std::map<ThreadId, Run> running_;
  std::vector<std::pair<ThreadId, Run>> runs_;
  std::map<Name, std::vector<const FileEvent*>> written_;    // by begin
  std::set<std::pair<std::uint32_t, std::uint32_t>> wrote_;  // processes and their openings
  std::set<Name> awaited_;  // somebody waited for them; others may come late and read once
  std::map<std::uint32_t, std::map<std::uint16_t, Times>>
      work_;  // by process and thread, of those that were asked for
};

}  // namespace

void add_rereading_edges(const model::Job& job, const files::SharedNames& names, Graph& graph,
                         std::vector<bool>& synchronises) {
  Rereading(job, names, graph, synchronises).add();
}

}  // namespace ddpscope::ordering
