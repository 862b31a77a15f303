// Which pieces of evidence have a card.
#include "viewer/story/cards.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace ddpscope::viewer {

bool accuses(const findings::Finding& finding, std::size_t evidence, std::size_t ranks) {
  const findings::Evidence& own = finding.evidence[evidence];
  bool at_fault = std::find(finding.ranks.begin(), finding.ranks.end(), own.rank) != finding.ranks.end();
  return at_fault && finding.ranks.size() < ranks &&
         !own.detail.starts_with("the last call in which the ranks agree");
}

std::int64_t fault_ns(const findings::Finding& finding, std::size_t ranks) {
  bool of_a_peer = false;
  std::int64_t own_ns = INT64_MAX;
  for (std::size_t i = 0; i < finding.evidence.size() && finding.count < 2; ++i) {
    const findings::Evidence& evidence = finding.evidence[i];
    if (accuses(finding, i, ranks))
      own_ns = std::min(own_ns, evidence.t_ns);
    else
      of_a_peer |= evidence.t_ns == finding.first_ns;
  }
  return of_a_peer && own_ns != INT64_MAX ? own_ns : finding.first_ns;
}

std::vector<std::size_t> cards_in_sight(const findings::Finding& finding, std::size_t room,
                                        std::size_t chosen, std::size_t ranks) {
  std::size_t count = finding.evidence.size();
  std::set<std::size_t> shown;
  if (chosen < count && room > 0) shown.insert(chosen);
  // The end of the story is what it comes to; one of the others is what that differs from.
  for (std::size_t i = count; i-- > 0 && shown.size() + (room > 1 ? 1 : 0) < room;)
    if (accuses(finding, i, ranks)) shown.insert(i);
  // Of two that nothing orders both, where they do not do the same.
  std::set<std::string_view> calls;
  for (std::size_t i = 0; i < count && shown.size() < room && !finding.order.empty(); ++i)
    if (calls.insert(finding.evidence[i].call).second) shown.insert(i);
  for (std::size_t i = 0; i < count && shown.size() < room; ++i) shown.insert(i);
  return {shown.begin(), shown.end()};
}

DrawerParts share_drawer(float width, std::size_t evidence, bool order) {
  constexpr float kLeastCard = 174, kMostCard = 460;
  constexpr float kLeastOrder = 250, kMostOrder = 420, kLeastFix = 220, kMostFix = 340;
  DrawerParts parts;
  parts.fix = std::clamp(width * 0.22f, kLeastFix, kMostFix);
  if (order) parts.order = std::clamp(width * 0.26f, kLeastOrder, kMostOrder);
  float rest = width - parts.fix - (order ? parts.order + kCardGap : 0);
  float lacking = static_cast<float>(evidence) * (kLeastCard + kCardGap) - rest;
  for (auto [part, least] :
       {std::pair(&parts.order, order ? kLeastOrder : 0), std::pair(&parts.fix, kLeastFix)}) {
    float given = std::clamp(lacking, 0.0f, *part - least);
    *part -= given, rest += given, lacking -= given;
  }
  auto slots =
      std::max<std::size_t>(1, static_cast<std::size_t>(std::max(rest, 0.0f) / (kLeastCard + kCardGap)));
  slots = std::min(slots, evidence);
  parts.list = slots > 1 && slots < evidence;
  parts.cards = slots - parts.list;
  if (slots > 0) parts.card = std::min(rest / static_cast<float>(slots) - kCardGap, kMostCard);
  return parts;
}

}  // namespace ddpscope::viewer
