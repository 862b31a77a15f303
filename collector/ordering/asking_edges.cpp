// The state of a file that one thread asks for again and again, with nothing else in between, while another
// process changes it: its time of change, or its size.
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
using files::Name;
using trace::Operation;

class Asking {
 public:
  Asking(const model::Job& job, const files::SharedNames& names, Graph& graph)
      : names_(names), graph_(graph), work_(job), changes_(job) {}

  void add() {
    for (const FileEvent& event : names_.events) see(event);
    for (auto& [thread, runs] : running_) finish(thread, runs);
    for (const auto& [thread, run] : runs_)
      if (run.times > kPolls && changes_in(thread, run) && holds_wait(thread, run)) awaited_.insert(run.name);
    for (const auto& [thread, run] : runs_)
      if (awaited_.contains(run.name))
        for (const FileEvent* look : run.looks) wait_for_changes(thread, *look);
  }

 private:
  // Looks that one thread takes, all of which find the file.
  struct Run {
    Name name = files::kNoName;
    std::vector<const FileEvent*> looks;
    std::uint32_t times = 0;
  };
  using Runs = std::map<Name, Run>;

  // By the name that the job gave it, if it is looked at under another.
  Name file_of(const FileEvent& look) const {
    return look.maker == files::kNoEvent ? look.name : names_.events[look.maker].made;
  }

  void see(const FileEvent& at) {
    changes_.note_state(at);
    ThreadId thread = span_of(at).thread;
    if (at.operation == Operation::kStat && !at.error) {
      Run& run = running_[thread][file_of(at)];
      run.name = file_of(at);
      run.looks.push_back(&at);
      run.times += at.attempts;
      return;
    }
    if (goes_with_waiting(at)) return;
    if (auto running = running_.find(thread); running != running_.end()) {
      leave_out_around(at, running->second);
      finish(thread, running->second);
      running_.erase(running);
    }
  }

  // One record stands for looks before and after it.
  static void leave_out_around(const FileEvent& at, Runs& runs) {
    for (auto& [name, run] : runs)
      if (run.looks.back()->end_ns > at.begin_ns) {
        run.times -= run.looks.back()->attempts;
        run.looks.pop_back();
      }
    std::erase_if(runs, [](const auto& entry) { return entry.second.looks.empty(); });
  }

  void finish(ThreadId thread, Runs& runs) {
    for (auto& [name, run] : runs) runs_.emplace_back(thread, std::move(run));
  }

  bool changes_in(ThreadId thread, const Run& run) const {
    return changes_.any_between(thread, run.name, run.looks.front()->begin_ns, run.looks.back()->end_ns);
  }

  // A part of it without other work.
  bool holds_wait(ThreadId thread, const Run& run) {
    Run part;
    for (const FileEvent* look : run.looks) {
      if (!part.looks.empty() && work_.any_between(thread, part.looks.back()->end_ns, look->begin_ns))
        part = {};
      part.name = run.name;
      part.looks.push_back(look);
      part.times += look->attempts;
      if (part.times > kPolls && changes_in(thread, part)) return true;
    }
    return false;
  }

  void wait_for_changes(ThreadId thread, const FileEvent& look) {
    for (const FileEvent* change : changes_.latest_before(thread, file_of(look), look.end_ns))
      graph_.edge(graph_.through(span_of(*change)), graph_.after(span_of(look)), EdgeKind::kFile,
                  Trust::kUnseen);
  }

  const files::SharedNames& names_;
  Graph& graph_;
  OtherWork work_;
  Changes changes_;
  std::map<ThreadId, Runs> running_;
  std::vector<std::pair<ThreadId, Run>> runs_;
  std::set<Name> awaited_;  // somebody waited for them to change; others may come late and ask once
};

}  // namespace

void add_asking_edges(const model::Job& job, const files::SharedNames& names, Graph& graph) {
  Asking(job, names, graph).add();
}

}  // namespace ddpscope::ordering
