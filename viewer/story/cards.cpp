// Which pieces of evidence have a card.
#include "viewer/story/cards.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace ddpscope::viewer {

bool accuses(const findings::Finding& finding, std::size_t evidence, std::size_t ranks) {
  const findings::Evidence& own = finding.evidence[evidence];
  bool at_fault = std::find(finding.ranks.begin(), finding.ranks.end(), own.rank) != finding.ranks.end();
  return at_fault && finding.ranks.size() < ranks &&
         !own.detail.starts_with("the last call in which the ranks agree");
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

}  // namespace ddpscope::viewer
