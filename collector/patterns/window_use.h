// What a rank did in some stretches of its time: where it was when others waited for it.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "collector/matching/collectives.h"
#include "collector/model/job.h"
#include "collector/patterns/late_ranks.h"

namespace ddpscope::patterns {

enum class Use : std::uint8_t {
  kInput,    // its threads waited for another thread or process: pipes, semaphores, conditions, children
  kFiles,    // inside calls on files
  kCompute,  // its device ran kernels other than NCCL's, until the turn was over
  // Until its host issued the collective that the window ends with:
  kDeviceWaits,  // it waited for its device
  kDeviceCalls,  // likewise, or was inside calls that wait where the device has much to do: launches, copies
};
constexpr std::size_t kUses = 5;

struct WindowUse {
  std::array<std::int64_t, kUses> ns{};            // by Use
  std::array<model::EventPlace, kUses> longest{};  // of kInput and kFiles: the longest call; else kNoCall
};

// By window; `windows` ascend. Counted are calls of the process's main thread, of those that issue the
// member's collectives and of those that launch a quarter of its kernels or make a quarter of its waits for
// the device (a backward pass has a thread of its own): what one of these waits for another is no input.
// Calls at the same time count once. What was folded into one record counts as inside, and so does the time
// since a thread's last call before it receives from a pipe or socket in a tenth of that time: it polls.
std::vector<WindowUse> read_window_uses(const model::Job& job, const matching::Collectives& collectives,
                                        const matching::Member& member,
                                        std::span<const MemberWindow> windows);

// Whether the devices' kernels were recorded.
bool kernels_are_timed(const model::Job& job, std::uint32_t process);

}  // namespace ddpscope::patterns
