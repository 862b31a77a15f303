// Who deviates stands before who came late, and who came late before those who waited.
#include "viewer/timeline/collective_members.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "viewer/view/time_view.h"

namespace ddpscope::viewer {
namespace {

std::string member_line(const merged::Collective& collective, const CollectiveShape& shape, std::size_t i) {
  const MemberShape& member = shape.members[i];
  if (member.absent) return "does not run it";
  std::string at = "at " + time_text(member.from_ns, 1000);
  if (member.elsewhere)
    return at + "  " + signature_text(collective.signatures[collective.arrivals[i].signature]);
  if (member.never)
    return fmt::format("{}  waits {} until the trace ends", at, duration_text(member.to_ns - member.from_ns));
  return fmt::format("{}  waits {}  leaves {}", at, duration_text(shape.last_arrival_ns - member.from_ns),
                     time_text(member.to_ns, 1000));
}

// What the last to come began, until it was over for all.
std::string completion_text(const merged::Collective& collective, const CollectiveShape& shape) {
  if (shape.never)
    return fmt::format("never completes, for {} until the trace ends",
                       duration_text(shape.end_ns - shape.last_arrival_ns));
  bool timed = false, known = false;
  for (std::size_t i = 0; i < shape.members.size(); ++i) {
    if (!shape.members[i].takes_part) continue;
    timed |= shape.members[i].timed;
    known |= collective.arrivals[i].end_ns != merged::kUnknown;
  }
  if (!known) return "";
  std::string took = duration_text(shape.end_ns - shape.last_arrival_ns);
  return timed ? "transfer " + took : "transfer at most " + took + ": when hosts had waited for it";
}

}  // namespace

CollectiveSummary summary_of(const merged::CommunicatorRow& communicator,
                             const merged::Collective& collective, const CollectiveShape& shape,
                             std::size_t most) {
  CollectiveSummary summary;
  summary.title = collective_text(collective, shape);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < std::min(shape.members.size(), communicator.members.size()); ++i)
    if (!shape.members[i].outside) order.push_back(i);
  auto place = [&](std::size_t i) {
    const MemberShape& member = shape.members[i];
    return std::tuple(!member.absent, !member.elsewhere, -member.from_ns);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
  auto last =
      std::find_if(order.begin(), order.end(), [&](std::size_t i) { return shape.members[i].takes_part; });
  if (last != order.end()) {
    std::int64_t skew_ns = std::max<std::int64_t>(shape.last_arrival_ns - shape.first_ns, 0);
    summary.facts.push_back(fmt::format("last to arrive: rank {}, {} after the first",
                                        communicator.members[*last].rank, duration_text(skew_ns)));
  }
  if (std::string text = completion_text(collective, shape); !text.empty()) summary.facts.push_back(text);
  summary.more = order.size() - std::min(order.size(), most);
  order.resize(order.size() - summary.more);
  for (std::size_t i : order)
    summary.members.push_back(
        {i, fmt::format("rank {:<3}  {}", communicator.members[i].rank, member_line(collective, shape, i))});
  return summary;
}

}  // namespace ddpscope::viewer
