// What Process::parent says of a process whose maker has no trace in the folder.
#pragma once
#include <cstdint>

namespace ddpscope::model {

constexpr std::int32_t kMakerNotRecorded = -1;  // it left none: a shell that only starts others, most often
constexpr std::int32_t kMakerUnknown = -2;      // no `ddpscope run` says whether it left one
constexpr std::int32_t kMakerMissing = -3;      // it left one, as `ddpscope run` saw, and that is not here

}  // namespace ddpscope::model
