// Medians of the differences between two ranks, turn by turn.
#include "collector/detectors/late_causes.h"

#include <algorithm>
#include <array>
#include <map>

#include "collector/detectors/story.h"
#include "collector/model/device_work.h"
#include "collector/model/order_statistics.h"
#include "collector/patterns/window_use.h"

namespace ddpscope::detectors {
namespace {

using patterns::LateRanks;
using patterns::MemberWindow;
using patterns::Use;
using patterns::WindowUse;

constexpr std::size_t kCauses = 3;       // uses that are causes
constexpr std::size_t kMostTurns = 256;  // the latest: of those the ring still has all calls

struct Compared {
  std::int64_t late_ns = 0, typical_ns = 0, beyond_ns = 0;  // medians
};

const matching::Member& member_of(const Facts& facts, const LateRanks& late, std::uint32_t member) {
  return facts.collectives.communicators[late.communicator].members[member];
}

std::vector<MemberWindow> windows_of(const LateRanks& late, std::size_t first, std::uint32_t member) {
  std::vector<MemberWindow> windows;
  for (std::size_t turn = first; turn < late.turns.size(); ++turn)
    windows.push_back(late.turns[turn].windows[member]);
  return windows;
}

Compared compare(const std::vector<WindowUse>& late, const std::vector<WindowUse>& typical, std::size_t use) {
  std::vector<std::int64_t> own, other, beyond;
  for (std::size_t i = 0; i < late.size(); ++i) {
    own.push_back(late[i].ns[use]);
    other.push_back(typical[i].ns[use]);
    beyond.push_back(own.back() - other.back());
  }
  return {model::median(own), model::median(other), model::median(beyond)};
}

// How much longer the late rank's host was busy with its own, but for what `waits` took.
std::int64_t own_beyond_ns(const std::vector<MemberWindow>& late, const std::vector<WindowUse>& late_uses,
                           const std::vector<MemberWindow>& typical,
                           const std::vector<WindowUse>& typical_uses, Use waits) {
  auto own_ns = [&](const MemberWindow& window, const WindowUse& use) {
    return std::max<std::int64_t>(window.issued_ns - window.from_ns, 0) -
           use.ns[static_cast<std::size_t>(waits)];
  };
  std::vector<std::int64_t> beyond;
  for (std::size_t i = 0; i < late.size(); ++i)
    beyond.push_back(own_ns(late[i], late_uses[i]) - own_ns(typical[i], typical_uses[i]));
  return model::median(beyond);
}

// The turn in which most was lost of those that lost no more than the typical one.
std::size_t example_of(const LateRanks& late, std::size_t first) {
  std::size_t example = first;
  for (std::size_t turn = first; turn < late.turns.size(); ++turn) {
    std::int64_t lost_ns = late.turns[turn].lost_ns, best_ns = late.turns[example].lost_ns;
    bool nearer = std::abs(lost_ns - late.lost_ns) < std::abs(best_ns - late.lost_ns);
    if (nearer) example = turn;
  }
  return example;
}

// A turn has several calls that are about as long: most turns tell, and not one.
std::string usual_place(const Facts& facts, std::uint32_t process, const std::vector<WindowUse>& uses,
                        std::size_t use) {
  std::map<std::string, std::size_t> turns;
  for (const WindowUse& window : uses)
    if (window.longest[use] != model::kNoCall)
      if (std::string place = program_place(facts.job, {process, window.longest[use]}); !place.empty())
        ++turns[place];
  auto most = std::max_element(turns.begin(), turns.end(),
                               [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == turns.end() ? "" : most->first;
}

}  // namespace

LateStory explain_lateness(const Facts& facts, const LateRanks& late) {
  std::size_t first = late.turns.size() > kMostTurns ? late.turns.size() - kMostTurns : 0;
  const matching::Member& own = member_of(facts, late, late.members.front());
  const matching::Member& other = member_of(facts, late, late.typical);
  std::vector<MemberWindow> own_windows = windows_of(late, first, late.members.front());
  std::vector<MemberWindow> other_windows = windows_of(late, first, late.typical);
  auto own_uses = patterns::read_window_uses(facts.job, facts.collectives, own, own_windows);
  auto other_uses = patterns::read_window_uses(facts.job, facts.collectives, other, other_windows);
  std::size_t example = example_of(late, first);
  LateStory story{LateCause::kUnknown, 0, 0, {own.process, model::kNoCall}, example};
  std::int64_t most_ns = late.lost_ns / 2;
  for (std::size_t use = 0; use < kCauses; ++use) {
    Compared compared = compare(own_uses, other_uses, use);
    if (compared.beyond_ns < most_ns) continue;
    most_ns = compared.beyond_ns;
    story = {static_cast<LateCause>(use),
             compared.late_ns,
             compared.typical_ns,
             {own.process, own_uses[example - first].longest[use]},
             example,
             usual_place(facts, own.process, own_uses, use)};
  }
  if (story.explained()) return story;
  if (late.known_by == patterns::KnownBy::kRuns) {  // there is no device
    story.cause = LateCause::kHost;
    return story;
  }
  auto own_ns = [&](Use waits) {
    return own_beyond_ns(own_windows, own_uses, other_windows, other_uses, waits);
  };
  bool kernels_tell = patterns::kernels_are_timed(facts.job, own.process) &&
                      patterns::kernels_are_timed(facts.job, other.process);
  if (own_ns(Use::kDeviceCalls) * 2 >= late.lost_ns)
    story.cause = LateCause::kHost;
  else if (!kernels_tell && own_ns(Use::kDeviceWaits) * 4 < late.lost_ns)
    story.cause = LateCause::kCompute;
  return story;
}

}  // namespace ddpscope::detectors
