// Times of other work, and of changes.
#include "collector/ordering/waits.h"

#include <fcntl.h>

#include <algorithm>

#include "collector/ordering/file_edges.h"

namespace ddpscope::ordering {
namespace {

using files::FileEvent;
using files::Name;
using trace::Operation;

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

bool opens(const trace::Record& record) {
  const trace::CallInfo* info = trace::find_call(record.call);
  return info && info->payload == trace::PayloadKind::kFileOpen &&
         !trace::payload_of<trace::payload::FileOpen>(record).error;
}

bool any(const std::vector<std::int64_t>& times, std::int64_t from_ns, std::int64_t to_ns) {
  auto next = std::lower_bound(times.begin(), times.end(), from_ns);
  return next != times.end() && *next < to_ns;
}

// What a name means may show before the call that changes it returns.
std::int64_t shows_from_ns(const FileEvent& change) {
  return change.made == files::kNoName ? change.end_ns : change.begin_ns;
}

}  // namespace

bool goes_with_waiting(const FileEvent& event) {
  bool looks = files::is_look(event) && (event.error || event.operation != Operation::kOpen);
  return looks || event.by_descriptor || event.aside || files::lists(event.operation) ||
         event.operation == Operation::kListing || event.operation == Operation::kClose;
}

OtherWork::ByThread OtherWork::work_of(std::uint32_t process) const {
  ByThread work;
  model::for_each_in_time(job_.processes[process].file,
                          [&](model::EventPlace place, const trace::Record& record) {
                            if (is_other_work(record))
                              work[record.thread].any.push_back(job_.begin_ns({process, place}));
                            if (opens(record))
                              work[record.thread].opens.push_back(job_.begin_ns({process, place}));
                          });
  return work;
}

const OtherWork::Work& OtherWork::work_of(ThreadId thread) {
  auto known = work_.find(thread.process);
  if (known == work_.end()) known = work_.emplace(thread.process, work_of(thread.process)).first;
  return known->second[thread.thread];
}

bool OtherWork::any_between(ThreadId thread, std::int64_t from_ns, std::int64_t to_ns) {
  return any(work_of(thread).any, from_ns, to_ns);
}

bool OtherWork::opens_between(ThreadId thread, std::int64_t from_ns, std::int64_t to_ns) {
  return any(work_of(thread).opens, from_ns, to_ns);
}

void Changes::note(Name name, const FileEvent& event) {
  of_name_[name][span_of(event).thread].push_back(&event);
}

void Changes::note_content(const FileEvent& event) {
  std::pair opening{event.event.process, event.opening};
  bool truncates = event.operation == Operation::kTruncate ||
                   (event.operation == Operation::kOpen && !event.error && event.flags & O_TRUNC);
  if (event.operation == Operation::kWrite) wrote_.insert(opening);
  bool flushes = event.operation == Operation::kClose && wrote_.contains(opening);
  if (event.operation == Operation::kWrite || truncates || flushes) note(event.name, event);
}

void Changes::note_state(const FileEvent& event) {
  bool writes = event.operation == Operation::kOpen && !event.error && (event.flags & O_ACCMODE) != O_RDONLY;
  bool sets_times = event.operation == Operation::kSetTimes && !event.error;
  if (writes || sets_times)
    note(event.name, event);
  else if (event.made != files::kNoName)
    note(event.made, event);
  else
    note_content(event);
}

void Changes::note_entry(Name folder, const FileEvent& event) { note(folder, event); }

// Of one thread, whose calls end in the order in which they begin.
const FileEvent* Changes::latest(const std::vector<const FileEvent*>& changes, std::int64_t until_ns) const {
  auto later = [](std::int64_t ns, const FileEvent* change) { return ns < shows_from_ns(*change); };
  auto next = std::upper_bound(changes.begin(), changes.end(), until_ns, later);
  return next == changes.begin() ? nullptr : *(next - 1);
}

bool Changes::any_between(ThreadId waiting, Name name, std::int64_t from_ns, std::int64_t to_ns) const {
  auto changes = latest_before(waiting, name, to_ns);
  return std::any_of(changes.begin(), changes.end(), [&](const FileEvent* change) {
    std::uint32_t process = change->event.process;
    return change->end_ns + job_.clock_error_between(process, waiting.process) > from_ns;
  });
}

std::vector<const FileEvent*> Changes::latest_before(ThreadId waiting, Name name, std::int64_t ns) const {
  std::vector<const FileEvent*> found;
  auto known = of_name_.find(name);
  if (known == of_name_.end()) return found;
  for (const auto& [thread, changes] : known->second)
    if (thread.process != waiting.process)
      if (const FileEvent* change =
              latest(changes, ns + job_.clock_error_between(thread.process, waiting.process)))
        found.push_back(change);
  return found;
}

}  // namespace ddpscope::ordering
