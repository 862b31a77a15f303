// For each use the nearest change before and after it by each other thread: what lies farther is ordered if
// these are, by that thread's own order.
#include "collector/patterns/file_races.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <map>
#include <set>

#include "collector/ordering/file_edges.h"
#include "collector/patterns/additions.h"
#include "collector/patterns/fatal_failures.h"

namespace ddpscope::patterns {
namespace {

using files::Access;
using files::AccessKind;
using files::FileEvent;
using files::Name;
using files::Object;
using ordering::span_of;
using ordering::ThreadId;
using ordering::Verdict;
using trace::Operation;

// Changes of other parts of the file between a use and the next change of the same part.
constexpr std::size_t kNeighbours = 1024;

class Races {
 public:
  Races(const model::Job& job, const files::SharedNames& names, const std::vector<Object>& objects,
        const ordering::HappensBefore& order)
      : job_(job), names_(names), order_(order), additions_(names, order), fatal_(job) {
    for (const Object& object : objects)
      for (const Access& access : object.accesses)
        if (access.kind == AccessKind::kWrite) written_[access.opening].push_back(&access);
    for (const FileEvent& event : names.events) {
      note_try(event);
      bool asks = files::is_look(event) && event.operation != Operation::kOpen;
      if (asks && !event.error) asked_[{event.event.process, event.name}].push_back(event.begin_ns);
      bool refused = event.operation == Operation::kMakeDirectory && event.error == EEXIST;
      if (event.made != files::kNoName || refused)
        made_.emplace(std::pair(event.event.process, refused ? event.name : event.made), event.begin_ns);
    }
  }

  void look_at(const Object& object) {
    if (object.shared_memory) {
      ++found_.mapped_files;
      return;
    }
    ByThread changes, removals;
    for (const Access& access : object.accesses) {
      ThreadId thread = span_of(event(access.event)).thread;
      if (files::changes(access.kind)) changes[thread].push_back(&access);
      if (access.kind == AccessKind::kRemove) removals[thread].push_back(&access);
    }
    additions_.look_at(object);
    for (const Access& use : object.accesses) {
      std::set<ThreadId> changing;  // what a thread removes to make it anew is told once
      if ((relies_on_change(use.kind) || ends_by_folder(use)) && !is_exempt(use))
        for (const auto& [thread, own] : changes)
          if (is_other_rank(own, use) && compare(object, own, use)) changing.insert(thread);
      if (relies_on_name(use.kind))
        for (const auto& [thread, own] : removals)
          if (is_other_rank(own, use) && !changing.contains(thread)) compare_removals(object, own, use);
    }
  }

  // An opening that had failed before, again and again.
  void note_try(const FileEvent& event) {
    if (event.operation != Operation::kOpen) return;
    std::uint32_t& misses = misses_[{span_of(event).thread, event.name}];
    if (files::is_miss(event)) {
      misses += event.attempts;
    } else if (!event.error) {
      if (misses >= ordering::kPolls) tried_.insert({event.event.process, event.opening});
      misses = 0;
    }
  }

  FileRaces take() { return std::move(found_); }

 private:
  using Accesses = std::vector<const Access*>;  // by begin
  using ByThread = std::map<ThreadId, Accesses>;

  const FileEvent& event(std::uint32_t index) const { return names_.events[index]; }
  bool is_other_rank(const Accesses& own, const Access& use) const {
    return event(own.front()->event).rank != event(use.event).rank;
  }
  Accesses::const_iterator first_after(const Accesses& own, std::int64_t ns) const {
    return std::upper_bound(own.begin(), own.end(), ns, [&](std::int64_t at, const Access* access) {
      return at < event(access->event).begin_ns;
    });
  }

  // Who lists a folder that is not there, as a rule takes it for empty.
  bool ends_by_folder(const Access& use) {
    const FileEvent& at = event(use.event);
    bool lists = use.kind == AccessKind::kVain && at.operation == Operation::kOpenDirectory;
    return lists && fatal_.ended(at);
  }

  // It only waits for the name, or its process has made the name, or would have.
  bool is_exempt(const Access& use) const {
    if (order_.synchronises(use.event)) return true;
    if (use.kind != AccessKind::kOpen && use.kind != AccessKind::kMiss && use.kind != AccessKind::kVain)
      return false;
    auto made = made_.find({event(use.event).event.process, event(use.event).name});
    return made != made_.end() && made->second < event(use.event).begin_ns;
  }

  bool compare(const Object& object, const Accesses& changes, const Access& use) {
    auto later = first_after(changes, event(use.event).begin_ns);
    auto conflicts = [&](const Access* change) { return conflict(object, *change, use); };
    std::size_t before = std::min<std::size_t>(later - changes.begin(), kNeighbours);
    std::size_t after = std::min<std::size_t>(changes.end() - later, kNeighbours);
    std::reverse_iterator last(later);
    auto earlier = std::find_if(last, last + before, conflicts);
    if (earlier != last + before && is_race(object, **earlier, use)) return true;
    // What is mapped is read later on: a change after it need not be meant to come before.
    if (use.kind == AccessKind::kMap) return false;
    auto next = std::find_if(later, later + after, conflicts);
    return next != later + after && is_race(object, **next, use);
  }

  // Of a name, or of parts of the content that have bytes in common.
  bool conflict(const Object& object, const Access& change, const Access& use) const {
    const FileEvent& a = event(change.event);
    const FileEvent& b = event(use.event);
    if (use.kind == AccessKind::kEnd)
      return additions_.concern(change, use) || missed_all(object, change, use);
    // To find a folder is no reliance: as a rule, who needs one would make it.
    if (use.kind == AccessKind::kOpen && a.operation == Operation::kMakeDirectory) return false;
    return a.from < b.to && b.from < a.to;
  }

  // It read nothing, and never does: the file is written later by an opening that may as well have come
  // first. Not a log, which is begun when it likes, and may be read when there is nothing in it yet.
  bool missed_all(const Object& object, const Access& change, const Access& use) const {
    const FileEvent& written = event(change.event);
    const FileEvent& end = event(use.event);
    const FileEvent& opening = event(change.opening);
    bool later = change.event != change.opening && written.begin_ns > end.begin_ns;
    if (end.from || !later || opening.flags & O_APPEND) return false;
    if (order_.between(span_of(opening), span_of(end)) == Verdict::kOrdered) return false;
    return std::none_of(object.accesses.begin(), object.accesses.end(), [&](const Access& access) {
      bool uses = access.kind != AccessKind::kEnd;
      return uses && event(access.event).event.process == end.event.process;
    });
  }

  // Who writes the file as well may have a part of its own, where it is not known which parts the two use.
  bool may_be_other_part(const Object& object, const Access& change, const Access& use) const {
    if (!object.content || (has_part(change) && has_part(use))) return false;
    std::uint32_t user = event(use.event).event.process;
    return std::any_of(object.accesses.begin(), object.accesses.end(), [&](const Access& access) {
      return access.kind == AccessKind::kWrite && event(access.event).event.process == user;
    });
  }

  // What cuts a file off concerns all of it.
  bool has_part(const Access& access) const {
    const FileEvent& at = event(access.event);
    return at.part || at.operation == Operation::kOpen || at.operation == Operation::kTruncate;
  }

  // All ranks clear away what an earlier run left: to come too late is none of their failures, unless it ends
  // one, which its own removal tells.
  bool clears_away(const Object& object, const Access& use) const {
    if (use.kind != AccessKind::kOpen && use.kind != AccessKind::kList) return false;
    const FileEvent& looked = event(use.event);
    return std::any_of(object.accesses.begin(), object.accesses.end(), [&](const Access& access) {
      const FileEvent& at = event(access.event);
      bool deletes = at.operation == Operation::kUnlink || at.operation == Operation::kRemoveDirectory;
      return deletes && access.event > use.event && span_of(at).thread == span_of(looked).thread;
    });
  }

  // What failed was hurt by the removal before it; what succeeded may be by the one after it.
  void compare_removals(const Object& object, const Accesses& removals, const Access& use) {
    auto later = first_after(removals, event(use.event).begin_ns);
    bool failed = use.kind == AccessKind::kMiss || use.kind == AccessKind::kVain;
    bool earlier_too = failed || use.kind == AccessKind::kPut;  // what is put may be what was to be removed
    if (earlier_too && later != removals.begin() && is_removal_race(object, **(later - 1), use)) return;
    if (!failed && later != removals.end()) is_removal_race(object, **later, use);
    // Of two that overlap, or that the clocks of two hosts do not tell apart, the one that began later may
    // have been the first.
    if (use.kind != AccessKind::kVain) return;
    for (; later != removals.end() && may_come_before(**later, use); ++later)
      if (is_removal_race(object, **later, use)) return;
  }

  bool may_come_before(const Access& change, const Access& use) const {
    const FileEvent &changes = event(change.event), &uses = event(use.event);
    return changes.begin_ns <=
           uses.end_ns + job_.clock_error_between(changes.event.process, uses.event.process);
  }

  bool is_race(const Object& object, const Access& change, const Access& use) {
    if (may_be_other_part(object, change, use)) {
      ++found_.unjudged_parts;
      return false;
    }
    if (may_try_again(object, change, use)) {
      found_.unjudged_tries += is_open(change, use);
      return false;
    }
    bool adds = additions_.among(change, use);
    if (adds && !additions_.waits_for_nobody(change, use)) {
      bool told = use.kind == AccessKind::kRead && additions_.reads_to_end(use);  // by that end
      found_.unjudged_additions += !told && is_open(change, use);
      return false;
    }
    if (found_whole(change, use)) {
      if (is_open(change, use)) count(object, change, use, found_.unjudged_asked);
      return false;
    }
    // It may read to the end for its own lines only, which shows in no call.
    return judge(object, change, use, found_.unjudged, adds ? Verdict::kLikely : Verdict::kUnordered);
  }

  bool is_removal_race(const Object& object, const Access& removal, const Access& use) {
    if (use.kind == AccessKind::kMiss && !misses_what_was_there(object, removal, use)) return false;
    if (use.kind == AccessKind::kVain && !fails_by_removal(object, removal, use)) return false;
    if (use.kind == AccessKind::kPut && is_consumed(object, removal, use)) return false;
    if (clears_away(object, use)) return false;
    return judge(object, removal, use, found_.unjudged_removals);
  }

  bool judge(const Object& object, const Access& change, const Access& use, Unjudged& unjudged,
             Verdict at_most = Verdict::kUnordered) {
    Verdict verdict = order_.between(span_of(event(change.event)), span_of(event(use.event)));
    bool race = verdict == Verdict::kUnordered || verdict == Verdict::kLikely;
    bool may_know = race && object.content && locks(change) && locks(use);
    if (verdict == Verdict::kUnjudged || may_know) count(object, change, use, unjudged);
    race = race && !may_know;
    if (race)
      found_.races.push_back(
          {&object, change, use, verdict == Verdict::kUnordered ? at_most : verdict, is_fatal(use)});
    return race;
  }

  bool is_fatal(const Access& use) {
    bool failed = use.kind == AccessKind::kMiss || use.kind == AccessKind::kVain;
    return failed && fatal_.ended(event(use.event));
  }

  static void count(const Object& object, const Access& change, const Access& use, Unjudged& unjudged) {
    if (unjudged.pairs++ == 0) unjudged.example = FileRace{&object, change, use, Verdict::kUnjudged};
  }

  // Who opens a file until it is there, and reads it by that, may do so until it is whole. Who reads while it
  // is being written, and does not come back, does not.
  bool may_try_again(const Object& object, const Access& change, const Access& use) const {
    const FileEvent& read = event(use.event);
    if (!object.content || !tried_.contains({read.event.process, read.opening})) return false;
    return std::none_of(object.accesses.begin(), object.accesses.end(), [&](const Access& access) {
      return access.opening == change.opening && event(access.event).end_ns > read.begin_ns;
    });
  }

  bool is_open(const Access& change, const Access& use) const {
    return order_.between(span_of(event(change.event)), span_of(event(use.event))) != Verdict::kOrdered;
  }

  // Who locks the file that it reads and writes knows what it may do without (data bases look at the header).
  bool locks(const Access& access) const {
    const FileEvent& opening = event(access.opening);
    return names_.locking.contains({opening.event.process, opening.opening});
  }

  // A name in a folder that is removed need not have been there; one that was may have been made again.
  bool misses_what_was_there(const Object& object, const Access& removal, const Access& use) const {
    if (order_.synchronises(use.event)) return false;
    bool there = event(removal.event).name == object.name;
    for (const Access& access : object.accesses) {
      if (access.event >= use.event) break;
      if (access.kind == AccessKind::kMake || access.kind == AccessKind::kPut ||
          access.kind == AccessKind::kOpen)
        there = true;
      if (there && access.event > removal.event && access.kind != AccessKind::kVain &&
          access.kind != AccessKind::kMiss)
        return false;
    }
    return there;
  }

  // Who removes it had opened it after it was put there: whether it might do so is a question of that
  // opening.
  bool is_consumed(const Object& object, const Access& removal, const Access& use) const {
    return std::any_of(object.accesses.begin(), object.accesses.end(), [&](const Access& access) {
      return access.kind == AccessKind::kOpen && access.event > use.event && access.event < removal.event &&
             event(access.event).event.process == event(removal.event).event.process;
    });
  }

  bool fails_by_removal(const Object& object, const Access& removal, const Access& use) {
    const FileEvent& removed = event(removal.event);
    const FileEvent& failed = event(use.event);
    bool folder_only = removed.name != object.name;
    switch (failed.operation) {
      case Operation::kOpen:  // it was to make the file
        return folder_only;
      case Operation::kRename:
        return folder_only || removed.operation != Operation::kRename || removed.target == failed.target;
      default:
        return fatal_.ended(failed);
    }
  }

  // Its process had asked for the file, and found all that the opening changes which made the change: it may
  // have been ready to wait. What is changed later and ordered after the use, it cannot have meant.
  bool found_whole(const Access& change, const Access& use) const {
    const FileEvent& opening = event(use.opening);
    auto asked = asked_.find({opening.event.process, opening.name});
    if (asked == asked_.end()) return false;
    auto next = std::upper_bound(asked->second.begin(), asked->second.end(), opening.begin_ns);
    if (next == asked->second.begin() || *(next - 1) < event(change.event).end_ns) return false;
    return !goes_on(change, use, *(next - 1));
  }

  // By that opening the file is changed after this time, too.
  bool goes_on(const Access& change, const Access& use, std::int64_t ns) const {
    auto written = written_.find(change.opening);
    if (written == written_.end()) return false;
    auto later = std::upper_bound(
        written->second.begin(), written->second.end(), ns,
        [&](std::int64_t at, const Access* access) { return at < event(access->event).end_ns; });
    if (later == written->second.end()) return false;
    Verdict verdict = order_.between(span_of(event((*later)->event)), span_of(event(use.event)));
    return verdict == Verdict::kUnordered || verdict == Verdict::kLikely;
  }

  const model::Job& job_;
  const files::SharedNames& names_;
  const ordering::HappensBefore& order_;
  Additions additions_;
  FatalFailures fatal_;
  FileRaces found_;
  std::map<std::pair<std::uint32_t, Name>, std::vector<std::int64_t>>
      asked_;                                                    // by process: when it was there
  std::map<std::uint32_t, std::vector<const Access*>> written_;  // by opening, by begin
  std::map<std::pair<std::uint32_t, Name>, std::int64_t> made_;  // by process: first time
  std::map<std::pair<ThreadId, Name>, std::uint32_t> misses_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> tried_;  // processes and openings
};

}  // namespace

std::vector<ThreadId> judged_threads(const files::SharedNames& names, const std::vector<Object>& objects) {
  std::set<ThreadId> threads;
  for (const Object& object : objects)
    for (const Access& access : object.accesses) threads.insert(span_of(names.events[access.event]).thread);
  return {threads.begin(), threads.end()};
}

FileRaces find_file_races(const model::Job& job, const files::SharedNames& names,
                          const std::vector<Object>& objects, const ordering::HappensBefore& order) {
  Races races(job, names, objects, order);
  for (const Object& object : objects) races.look_at(object);
  return races.take();
}

}  // namespace ddpscope::patterns
