// For each use the nearest change before and after it by each other thread: what lies farther is ordered if
// these are, by that thread's own order.
#include "collector/patterns/file_races.h"

#include <algorithm>
#include <map>
#include <set>

#include "collector/ordering/file_edges.h"

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

class Races {
 public:
  Races(const files::SharedNames& names, const ordering::HappensBefore& order)
      : names_(names), order_(order) {
    for (const FileEvent& event : names.events) {
      bool asks = event.operation == Operation::kStat || event.operation == Operation::kAccess;
      if (asks && !event.error) asked_[{event.event.process, event.name}].push_back(event.begin_ns);
      if (event.made != files::kNoName)
        made_.emplace(std::pair(event.event.process, event.made), event.begin_ns);
    }
  }

  void look_at(const Object& object) {
    if (object.shared_memory) {
      ++found_.mapped_files;
      return;
    }
    std::map<ThreadId, std::vector<const Access*>> changes;  // by begin
    for (const Access& access : object.accesses)
      if (files::changes(access.kind)) changes[span_of(event(access.event)).thread].push_back(&access);
    for (const Access& use : object.accesses)
      if (!files::changes(use.kind) && !is_exempt(use))
        for (const auto& [thread, own] : changes)
          if (event(own.front()->event).rank != event(use.event).rank) compare(object, own, use);
  }

  FileRaces take() { return std::move(found_); }

 private:
  const FileEvent& event(std::uint32_t index) const { return names_.events[index]; }

  // It only waits for the name, or its process has made the name itself.
  bool is_exempt(const Access& use) const {
    if (order_.synchronises(use.event)) return true;
    if (use.kind != AccessKind::kOpen && use.kind != AccessKind::kMiss) return false;
    auto made = made_.find({event(use.event).event.process, event(use.event).name});
    return made != made_.end() && made->second < event(use.event).begin_ns;
  }

  void compare(const Object& object, const std::vector<const Access*>& changes, const Access& use) {
    std::int64_t at = event(use.event).begin_ns;
    auto later = std::upper_bound(
        changes.begin(), changes.end(), at,
        [&](std::int64_t ns, const Access* change) { return ns < event(change->event).begin_ns; });
    bool found = later != changes.begin() && is_race(object, **(later - 1), use);
    // What is mapped is read later on: a change after it need not be meant to come before.
    if (!found && later != changes.end() && use.kind != AccessKind::kMap) is_race(object, **later, use);
  }

  bool is_race(const Object& object, const Access& change, const Access& use) {
    if (asked_before(change, use)) return false;
    Verdict verdict = order_.between(span_of(event(change.event)), span_of(event(use.event)));
    if (verdict == Verdict::kUnjudged) ++found_.unjudged;
    bool race = verdict == Verdict::kUnordered || verdict == Verdict::kLikely;
    if (race) found_.races.push_back({&object, change, use, verdict});
    return race;
  }

  bool asked_before(const Access& change, const Access& use) const {
    const FileEvent& opening = event(use.opening);
    auto asked = asked_.find({opening.event.process, opening.name});
    if (asked == asked_.end()) return false;
    auto next = std::upper_bound(asked->second.begin(), asked->second.end(), opening.begin_ns);
    return next != asked->second.begin() && *(next - 1) >= event(change.event).end_ns;
  }

  const files::SharedNames& names_;
  const ordering::HappensBefore& order_;
  FileRaces found_;
  std::map<std::pair<std::uint32_t, Name>, std::vector<std::int64_t>>
      asked_;                                                    // by process: when it was there
  std::map<std::pair<std::uint32_t, Name>, std::int64_t> made_;  // by process: first time
};

}  // namespace

std::vector<ThreadId> judged_threads(const files::SharedNames& names, const std::vector<Object>& objects) {
  std::set<ThreadId> threads;
  for (const Object& object : objects)
    for (const Access& access : object.accesses) threads.insert(span_of(names.events[access.event]).thread);
  return {threads.begin(), threads.end()};
}

FileRaces find_file_races(const files::SharedNames& names, const std::vector<Object>& objects,
                          const ordering::HappensBefore& order) {
  Races races(names, order);
  for (const Object& object : objects) races.look_at(object);
  return races.take();
}

}  // namespace ddpscope::patterns
