// The state of a file that one thread asks for again and again, with nothing else in between, while another
// process changes it: its time of change, or its size; by its name, or through a descriptor.
#include <deque>
#include <map>
#include <set>
#include <string_view>
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
      : names_(names), graph_(graph), work_(job), changes_(job) {
    for (Name name = 0; name < names.places.size(); ++name) by_place_.emplace(names.places[name], name);
  }

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

  // A folder's time is that of its entries.
  void note_entries(const FileEvent& at) {
    bool comes = at.made != files::kNoName && (at.fresh || at.operation != Operation::kOpen);
    if (comes) note_entry(at.made, at);
    if (files::removes(at) && at.name != files::kNoName) note_entry(at.name, at);
  }

  void note_entry(Name entry, const FileEvent& at) {
    auto folder = by_place_.find(files::folder_of(names_.places[entry]));
    if (folder == by_place_.end()) return;
    folders_.insert(folder->second);
    changes_.note_entry(folder->second, at);
  }

  void see(const FileEvent& at) {
    changes_.note_state(at);
    note_entries(at);
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
      cut_around(at, running->second);
      finish(thread, running->second);
      running_.erase(running);
    }
  }

  // One record stands for looks before and after it: of those before, the first is certain.
  void cut_around(const FileEvent& at, Runs& runs) {
    for (auto& [name, run] : runs) {
      const FileEvent& last = *run.looks.back();
      if (last.end_ns <= at.begin_ns) continue;
      run.times -= last.attempts - 1;
      FileEvent& first = cut_.emplace_back(last);
      first.attempts = 1;
      first.end_ns = at.begin_ns;
      run.looks.back() = &first;
    }
  }

  void finish(ThreadId thread, Runs& runs) {
    for (auto& [name, run] : runs) runs_.emplace_back(thread, std::move(run));
  }

  bool changes_in(ThreadId thread, const Run& run) const {
    return changes_.any_between(thread, run.name, run.looks.front()->begin_ns, run.looks.back()->end_ns);
  }

  // Python asks for the times of the folders it imports from whenever it imports, and opens files in between.
  bool works_between(ThreadId thread, Name name, std::int64_t from_ns, std::int64_t to_ns) {
    return work_.any_between(thread, from_ns, to_ns) ||
           (folders_.contains(name) && work_.opens_between(thread, from_ns, to_ns));
  }

  // A part of it without other work.
  bool holds_wait(ThreadId thread, const Run& run) {
    Run part;
    for (const FileEvent* look : run.looks) {
      if (!part.looks.empty() && works_between(thread, run.name, part.looks.back()->end_ns, look->begin_ns))
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
  std::deque<FileEvent> cut_;
  std::map<std::string_view, Name> by_place_;
  std::set<Name> folders_;  // in which something came or went
  std::vector<std::pair<ThreadId, Run>> runs_;
  std::set<Name> awaited_;  // somebody waited for them to change; others may come late and ask once
};

}  // namespace

void add_asking_edges(const model::Job& job, const files::SharedNames& names, Graph& graph) {
  Asking(job, names, graph).add();
}

}  // namespace ddpscope::ordering
