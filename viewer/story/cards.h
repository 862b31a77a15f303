// Which pieces of evidence have a card in the drawer, and whose card is an accusation.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "collector/findings/finding.h"

namespace ddpscope::viewer {

// It is of a rank at fault and tells what that did otherwise. Not where all ranks of the job (`ranks`) are at
// fault: of all none stands out.
bool accuses(const findings::Finding& finding, std::size_t evidence, std::size_t ranks);

// What is told beside the ranks at fault: when it begins, or, if that is a call of another rank, when they
// did otherwise. Of what comes again and again always when it begins.
std::int64_t fault_ns(const findings::Finding& finding, std::size_t ranks);

// Ascending indices of evidence, `room` of them at most: `chosen` (any that is not there: none), what
// accuses, both sides of what nothing orders, and the beginning of the story.
std::vector<std::size_t> cards_in_sight(const findings::Finding& finding, std::size_t room,
                                        std::size_t chosen, std::size_t ranks);

// How the drawer's width is shared out, px at scale 1.
struct DrawerParts {
  std::size_t cards = 0;  // of evidence, each `card` wide
  bool list = false;      // in one column, as wide, the evidence that has no card
  float card = 0, order = 0, fix = 0;
};
constexpr float kCardGap = 10;

// What could order the accesses (`order`: there are such) and the fix are narrower before evidence goes
// without a card.
DrawerParts share_drawer(float width, std::size_t evidence, bool order);

}  // namespace ddpscope::viewer
