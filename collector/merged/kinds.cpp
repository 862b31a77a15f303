// Names of kinds, and what a rank is in while an event of a kind runs.
#include "collector/merged/kinds.h"

namespace ddpscope::merged {
namespace {

constexpr const char* kKindNames[kKinds] = {
    "other", "compute", "optimizer", "collective", "barrier", "file read", "file write", "file name",
    "copy",  "wait",    "step",      "range",      "enqueue", "message",   "process",    "seen"};

constexpr const char* kTrackNames[kTrackKinds] = {"steps", "ranges", "host",         "files",     "stream",
                                                  "input", "worker", "worker files", "sightings", "looks"};

constexpr const char* kActivityNames[kActivities] = {"file write", "file read", "collective", "compute",
                                                     "copy",       "waiting",   "other",      "none"};

}  // namespace

const char* name_of(Kind kind) {
  auto number = static_cast<std::size_t>(kind);
  return kKindNames[number < kKinds ? number : 0];
}

const char* name_of(TrackKind kind) {
  auto number = static_cast<std::size_t>(kind);
  return number < kTrackKinds ? kTrackNames[number] : "other";
}

const char* name_of(Activity activity) {
  auto number = static_cast<std::size_t>(activity);
  return number < kActivities ? kActivityNames[number] : "none";
}

Activity activity_of(Kind kind) {
  switch (kind) {
    case Kind::kFileWrite:
      return Activity::kFileWrite;
    case Kind::kFileRead:
      return Activity::kFileRead;
    case Kind::kCollective:
    case Kind::kBarrier:
      return Activity::kCollective;
    case Kind::kCompute:
    case Kind::kOptimizer:
      return Activity::kCompute;
    case Kind::kCopy:
      return Activity::kCopy;
    case Kind::kWait:
      return Activity::kWaiting;
    case Kind::kStep:
    case Kind::kRange:
    case Kind::kSeen:
      return Activity::kNone;  // says nothing of what is done meanwhile
    default:
      return Activity::kOther;
  }
}

}  // namespace ddpscope::merged
