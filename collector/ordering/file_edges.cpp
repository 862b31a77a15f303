// Names that come to be, and who sees them.
#include "collector/ordering/file_edges.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <limits>
#include <map>
#include <set>

#include "collector/ordering/poll_edges.h"

namespace ddpscope::ordering {
namespace {

using files::FileEvent;
using files::is_look;
using files::is_miss;
using files::kNoEvent;
using files::kNoName;
using files::Name;
using files::removes;
using trace::Operation;

class FileEdges {
 public:
  FileEdges(const model::Job& job, const files::SharedNames& names, Graph& graph)
      : job_(job), names_(names), graph_(graph), synchronises_(names.events.size()) {}

  std::vector<bool> add() {
    for (const FileEvent& event : names_.events) {
      if (event.made != kNoName) makers_[event.made][thread_of(event)].push_back(&event);
      if (event.made != kNoName && event.fresh) anew_[event.made][thread_of(event)].push_back(&event);
      bool makes_file = event.fresh && event.operation != Operation::kMakeDirectory;
      if (makes_file && !publishes(event)) made_in_place_.insert(event.made);
      if (!publishes(event)) continue;
      published_.emplace(names_.places[event.target], event.target);
      renames_[event.target].push_back(&event);
    }
    find_awaited();
    for (std::size_t i = 0; i < names_.events.size(); ++i) see(i);
    return std::move(synchronises_);
  }

 private:
  using Looker = std::pair<ThreadId, Name>;
  using ByThread = std::map<ThreadId, std::vector<const FileEvent*>>;  // each in program order
  struct Polling {
    std::int64_t last_ns = 0;
    std::vector<std::size_t> events;
  };

  static ThreadId thread_of(const FileEvent& event) { return span_of(event).thread; }

  // Gives a name to what was made under another one.
  static bool publishes(const FileEvent& event) {
    bool names = event.operation == Operation::kRename || event.operation == Operation::kLink;
    return names && !event.error && event.target != kNoName;
  }

  // Needs the name: who tries to rename or delete a file until it succeeds waits for it (a job, a token).
  static bool takes(const FileEvent& event) {
    bool needs = event.operation == Operation::kRename || event.operation == Operation::kUnlink;
    return needs && event.name != kNoName && (!event.error || event.error == ENOENT);
  }

  // Names for which somebody waited by asking. Others may come late and ask once, or find it at once: as with
  // a wait whose result is there already, they would have waited.
  void find_awaited() {
    std::map<Looker, std::uint32_t> misses;
    std::set<Looker> refused;
    for (const FileEvent& event : names_.events) {
      if (event.operation == Operation::kMakeDirectory) {
        Looker maker{thread_of(event), event.name};
        if (event.error == EEXIST) refused.insert(maker);
        if (!event.error && refused.contains(maker)) locks_.insert(event.name);
      }
      if (!is_look(event) && !takes(event)) continue;
      Looker looker{thread_of(event), event.name};
      if (is_miss(event) || (takes(event) && event.error)) {
        misses[looker] += event.attempts;
      } else if (!event.error) {
        auto missed = misses.find(looker);
        if (missed == misses.end()) continue;
        if (missed->second >= kPolls) {
          awaited_.insert(event.name);
          if (event.maker != kNoEvent) awaited_.insert(names_.events[event.maker].made);
        }
        misses.erase(missed);
      }
    }
  }

  void see(std::size_t index) {
    const FileEvent& event = names_.events[index];
    if (event.operation == Operation::kLink && !event.error) follow_removal(event, event.target);
    if (event.operation == Operation::kMakeDirectory && !event.error)
      follow_removal(event, event.name, locks_.contains(event.name) ? Trust::kSeen : Trust::kUnseen);
    if (takes(event)) see_taking(index);
    if (removes(event)) removed_[event.name] = &event;
    if (!is_look(event)) return;
    Looker looker{thread_of(event), event.name};
    if (is_miss(event)) {
      note_miss(looker, index);
      if (auto removal = removed_.find(event.name); removal != removed_.end())
        may_wait_for(*removal->second, event);
      return;
    }
    if (event.error) return;
    if (event.operation == Operation::kOpen && event.flags & O_CREAT) {
      if (event.flags & O_EXCL) follow_removal(event, event.name);
    } else {
      if (end_polling(looker, index)) synchronises_[index] = true;
      follow_renames(index);
      follow_maker(index);
      may_wait_for_makers(event);
    }
    polling_.erase(looker);
  }

  void note_miss(const Looker& looker, std::size_t index) {
    Polling& polling = polling_[looker];
    polling.last_ns = names_.events[index].begin_ns;
    polling.events.push_back(index);
  }

  // Besides it changes names, and is judged as that.
  void see_taking(std::size_t index) {
    const FileEvent& event = names_.events[index];
    Looker looker{thread_of(event), event.name};
    if (event.error) return note_miss(looker, index);
    end_polling(looker, index);
    polling_.erase(looker);
  }

  // The same file under another name: it is what was waited for, or published, or may have been waited for.
  void follow_maker(std::size_t index) {
    const FileEvent& seen = names_.events[index];
    if (seen.maker == kNoEvent) return;
    const FileEvent& made = names_.events[seen.maker];
    if (thread_of(made) == thread_of(seen)) return;
    bool awaited = awaited_.contains(seen.name) || awaited_.contains(made.made);
    if (publishes(made)) {
      publish(made, index);
    } else if (awaited) {
      graph_.edge(graph_.through(span_of(made)), graph_.after(span_of(seen)), EdgeKind::kFile);
      synchronises_[index] = true;
    } else {
      may_wait_for(made, seen);
    }
  }

  std::int64_t error_ns(ThreadId maker, const FileEvent& look) const {
    return job_.clock_error_between(maker.process, thread_of(look).process);
  }

  static constexpr std::int64_t kBefore = std::numeric_limits<std::int64_t>::min();

  // Whoever looks may have been ready to wait until it finds what it does: a single look does not tell.
  void may_wait_for(const FileEvent& change, const FileEvent& look) {
    if (thread_of(change).process != thread_of(look).process)
      graph_.edge(graph_.through(span_of(change)), graph_.after(span_of(look)), EdgeKind::kFile,
                  Trust::kUnseen);
  }

  // Of each thread that made the name anew the last time before: earlier ones come before that.
  void may_wait_for_makers(const FileEvent& look) {
    auto anew = anew_.find(look.name);
    if (anew == anew_.end()) return;
    auto later = [](std::int64_t ns, const FileEvent* made) { return ns < made->begin_ns; };
    for (const auto& [thread, made] : anew->second)
      if (auto next = std::upper_bound(made.begin(), made.end(), look.end_ns + error_ns(thread, look), later);
          next != made.begin())
        may_wait_for(**(next - 1), look);
  }

  // The name came to be between the last failure, if any, and the success: by the first that made it then.
  // Whether that was awaited.
  bool end_polling(const Looker& looker, std::size_t index) {
    const FileEvent& seen = names_.events[index];
    if (!awaited_.count(seen.name)) return false;
    auto polled = polling_.find(looker);
    std::int64_t missed_ns = polled == polling_.end() ? kBefore : polled->second.last_ns;
    const FileEvent* made = nullptr;
    for (const auto& [thread, makers] : makers_[seen.name]) {
      if (thread == looker.first) continue;
      auto earlier = [error = error_ns(thread, seen)](const FileEvent* maker, std::int64_t ns) {
        return maker->end_ns + error < ns;
      };
      auto first = std::lower_bound(makers.begin(), makers.end(), missed_ns, earlier);
      if (first != makers.end() && (!made || *first < made))
        made = *first;  // events are in the order of begin
    }
    if (!made || made->begin_ns > seen.end_ns + error_ns(thread_of(*made), seen)) return false;
    // What takes the name away does so itself after it was made.
    Node told = takes(seen) ? graph_.before(span_of(seen)) : graph_.after(span_of(seen));
    graph_.edge(graph_.through(span_of(*made)), told, EdgeKind::kFile);
    if (polled != polling_.end())
      for (std::size_t miss : polled->second.events) synchronises_[miss] = true;
    return true;
  }

  // What was written under another name and then got this one was complete. A name that had meant another
  // file until then may be seen with either: that says nothing of the rename itself.
  void follow_renames(std::size_t index) {
    const FileEvent& seen = names_.events[index];
    follow_rename(index, seen.name, seen.inode);
    const std::string& place = names_.places[seen.name];
    for (std::size_t slash = place.rfind('/'); slash != std::string::npos && slash;
         slash = place.rfind('/', slash - 1))
      if (auto folder = published_.find(place.substr(0, slash)); folder != published_.end())
        follow_rename(index, folder->second, 0);
  }

  void follow_rename(std::size_t index, Name name, std::uint64_t inode) {
    const FileEvent& seen = names_.events[index];
    auto known = renames_.find(name);
    if (known == renames_.end()) return;
    // A record of several looks found what its last one did.
    std::int64_t latest_ns = seen.end_ns + job_.clock_error_ns;
    auto begins_later = [](std::int64_t ns, const FileEvent* event) { return ns < event->begin_ns; };
    auto next = std::upper_bound(known->second.begin(), known->second.end(), latest_ns, begins_later);
    for (std::reverse_iterator rename(next); rename != known->second.rend(); ++rename) {
      const FileEvent& event = **rename;
      std::int64_t until_ns = seen.end_ns + error_ns(thread_of(event), seen);
      if (event.begin_ns > until_ns) continue;
      bool told = inode && event.inode;
      if (told && inode != event.inode) continue;
      if (!told && event.end_ns > until_ns) {  // the new name may show before the call returns
        may_wait_for(event, seen);
        continue;
      }
      if (thread_of(event) != thread_of(seen)) publish(event, index);
      return;
    }
  }

  void publish(const FileEvent& event, std::size_t index) {
    const FileEvent& seen = names_.events[index];
    if (!followed_.insert({thread_of(seen), &event}).second) return;
    if (event.fresh || !made_in_place_.contains(event.made)) synchronises_[index] = true;
    Node from = event.fresh ? graph_.through(span_of(event)) : graph_.before(span_of(event));
    // Who finds nothing in a cache goes on without it.
    Trust trust = names_.ignored[event.made] ? Trust::kUnseen : Trust::kSeen;
    graph_.edge(from, graph_.after(span_of(seen)), EdgeKind::kFile, trust);
  }

  // Nobody can make what is there already.
  void follow_removal(const FileEvent& made, Name name, Trust trust = Trust::kSeen) {
    auto removal = removed_.find(name);
    if (removal != removed_.end() && thread_of(*removal->second) != thread_of(made))
      graph_.edge(graph_.through(span_of(*removal->second)), graph_.after(span_of(made)), EdgeKind::kFile,
                  trust);
  }

  const model::Job& job_;
  const files::SharedNames& names_;
  Graph& graph_;
  std::vector<bool> synchronises_;
  std::map<Name, ByThread> makers_, anew_;              // of each name; anew: it meant nothing before
  std::map<std::string, Name, std::less<>> published_;  // rename targets, by place
  std::set<Name> made_in_place_;  // not always by renaming, or linking, what was complete
  std::set<Name> awaited_;
  std::set<Name> locks_;  // folders that somebody tried to make until nobody else had them
  std::map<Looker, Polling> polling_;
  std::map<Name, std::vector<const FileEvent*>> renames_;
  std::map<Name, const FileEvent*> removed_;  // by what last
  std::set<std::pair<ThreadId, const FileEvent*>> followed_;
};

}  // namespace

Span span_of(const FileEvent& event) {
  return {{event.event.process, event.thread}, event.begin_ns, event.end_ns};
}

std::vector<bool> add_file_edges(const model::Job& job, const files::SharedNames& names, Graph& graph) {
  std::vector<bool> synchronises = FileEdges(job, names, graph).add();
  add_listing_edges(job, names, graph);
  add_asking_edges(job, names, graph);
  add_rereading_edges(job, names, graph, synchronises);
  add_following_edges(job, names, graph, synchronises);
  return synchronises;
}

}  // namespace ddpscope::ordering
