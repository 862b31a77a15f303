// A small file that one thread reads again and again, with nothing else in between, while another rank writes
// it.
#include <fcntl.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "collector/ordering/file_edges.h"
#include "collector/ordering/poll_edges.h"
#include "collector/ordering/waits.h"

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

class Rereading {
 public:
  Rereading(const model::Job& job, const files::SharedNames& names, Graph& graph,
            std::vector<bool>& synchronises)
      : names_(names), graph_(graph), synchronises_(synchronises), work_(job), changes_(job) {}

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
    changes_.note_content(at);
    if (goes_with_waiting(at)) return;
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

  // In parts, where the thread did something else in between.
  void finish(ThreadId thread, Run& run) {
    Run part{run.name, {}};
    for (Pass& pass : run.passes) {
      if (pass.bytes > kSmall) continue;
      bool apart =
          !part.passes.empty() && work_.any_between(thread, end_of(part.passes.back()), begin_of(pass));
      if (apart) runs_.emplace_back(thread, std::exchange(part, {run.name, {}}));
      part.passes.push_back(std::move(pass));
    }
    if (!part.passes.empty()) runs_.emplace_back(thread, std::move(part));
    run = {};
  }

  std::int64_t begin_of(const Pass& pass) const { return event(pass.events.front()).begin_ns; }
  std::int64_t end_of(const Pass& pass) const { return event(pass.events.back()).end_ns; }

  bool is_written_during(ThreadId thread, const Run& run) const {
    return changes_.any_between(thread, run.name, begin_of(run.passes.front()), end_of(run.passes.back()));
  }

  void wait_for_writers(ThreadId thread, const Run& run) {
    const FileEvent& last = event(run.passes.back().events.back());
    for (const FileEvent* write : changes_.latest_before(thread, run.name, last.end_ns))
      graph_.edge(graph_.through(span_of(*write)), graph_.after(span_of(last)), EdgeKind::kFile,
                  Trust::kUnseen);
    for (const Pass& pass : run.passes)
      for (std::size_t index : pass.events) synchronises_[index] = true;
  }

  const files::SharedNames& names_;
  Graph& graph_;
  std::vector<bool>& synchronises_;
  std::map<ThreadId, Run> running_;
  std::vector<std::pair<ThreadId, Run>> runs_;
  OtherWork work_;
  Changes changes_;         // of contents
  std::set<Name> awaited_;  // somebody waited for them; others may come late and read once
};

}  // namespace

void add_rereading_edges(const model::Job& job, const files::SharedNames& names, Graph& graph,
                         std::vector<bool>& synchronises) {
  Rereading(job, names, graph, synchronises).add();
}

}  // namespace ddpscope::ordering
