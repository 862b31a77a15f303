// Who adds what to a file, and what of it readers among them wait for.
#include "collector/patterns/additions.h"

#include <fcntl.h>

#include <algorithm>

#include "collector/ordering/file_edges.h"

namespace ddpscope::patterns {

using files::Access;
using files::AccessKind;
using files::FileEvent;
using ordering::span_of;
using ordering::ThreadId;

void Additions::look_at(const files::Object& object) {
  additions_.clear();
  adding_.clear();
  read_from_.clear();
  read_to_end_.clear();
  if (!object.content) return;
  for (const Access& access : object.accesses) {
    const FileEvent& at = event(access.event);
    if (adds(access)) {
      additions_[span_of(at).thread].push_back(&access);
      adding_.insert(at.event.process);
    }
    if (access.kind != AccessKind::kRead && access.kind != AccessKind::kEnd) continue;
    if (access.kind == AccessKind::kEnd) read_to_end_.insert(access.opening);
    auto [known, fresh] = read_from_.emplace(access.opening, at.from);
    known->second = std::min(known->second, at.from);
  }
}

bool Additions::adds(const Access& access) const {
  const FileEvent& at = event(access.event);
  bool writes = access.kind == AccessKind::kWrite && at.operation == trace::Operation::kWrite;
  return writes && at.part && event(access.opening).flags & O_APPEND;
}

bool Additions::among(const Access& change, const Access& use) const {
  return adding_.contains(event(use.event).event.process) && adds(change);
}

bool Additions::concern(const Access& change, const Access& use) const {
  auto from = read_from_.find(use.opening);
  return among(change, use) && from != read_from_.end() && from->second < event(change.event).to;
}

const Access* Additions::last_before(const Access& use) const {
  auto own = additions_.find(span_of(event(use.event)).thread);
  if (own == additions_.end()) return nullptr;
  auto later = [&](std::int64_t ns, const Access* access) { return ns < event(access->event).begin_ns; };
  auto next = std::upper_bound(own->second.begin(), own->second.end(), event(use.event).begin_ns, later);
  return next == own->second.begin() ? nullptr : *(next - 1);
}

bool Additions::waits_for_nobody(const Access& change, const Access& use) const {
  const Access* own = use.kind == AccessKind::kEnd ? last_before(use) : nullptr;
  if (!own) return false;
  ThreadId reader = span_of(event(use.event)).thread, other = span_of(event(change.event)).thread;
  auto heard = [&](const Access& access) {
    return order_.known(other, reader, event(access.event).begin_ns);
  };
  return heard(use) <= heard(*own);
}

}  // namespace ddpscope::patterns
