// Which collective a call of the evidence is about.
#include "viewer/story/concerned_collective.h"

#include <fmt/format.h>

#include <algorithm>

#include "viewer/timeline/collective_shape.h"

namespace ddpscope::viewer {

merged::CollectiveRef collective_of(const merged::Reader& reader, merged::EventPlace place) {
  if (place == merged::kNoEvent) return {};
  auto detail = reader.detail(place);
  if (!detail) return {};
  std::erase_if(detail->collectives, [](const merged::CollectiveRef& own) { return own.count == 0; });
  if (detail->collectives.empty()) return {};
  for (const merged::CollectiveRef& own : detail->collectives) {
    auto all = reader.collectives(own.communicator, own.sequence, own.sequence + own.count);
    if (!all) continue;
    auto odd = std::find_if(all->begin(), all->end(), [](const merged::Collective& collective) {
      return collective.flags & (merged::kMissing | merged::kMismatched);
    });
    if (odd != all->end()) return {own.communicator, own.member, odd->sequence, 1};
  }
  merged::CollectiveRef first = detail->collectives.front();
  first.count = 1;
  return first;
}

std::int64_t device_begin(const merged::Reader& reader, merged::EventPlace place) {
  merged::CollectiveRef own = collective_of(reader, place);
  auto shape = shape_at(reader, own.communicator, own.sequence);
  if (!shape || own.member >= shape->members.size()) return merged::kUnknown;
  return shape->members[own.member].from_ns;
}

std::int64_t device_end(const merged::Reader& reader, std::uint32_t communicator, std::uint64_t sequence,
                        std::int32_t rank) {
  auto shape = shape_at(reader, communicator, sequence);
  if (!shape) return merged::kUnknown;
  const auto& members = reader.communicators()[communicator].members;
  for (std::size_t i = 0; i < std::min(members.size(), shape->members.size()); ++i)
    if (const MemberShape& own = shape->members[i]; members[i].rank == rank && !own.absent && !own.never)
      return own.to_ns;
  return merged::kUnknown;
}

namespace {

// What the finding accuses a rank of.
const char* accusation(const findings::Finding& finding) {
  if (finding.slug == "uneven-steps") return "has no data left";
  if (finding.slug != "skipped-barrier") return "does not call what its peers call";
  return finding.key.starts_with("surplus") ? "runs a barrier once more" : "goes on without the barrier";
}

}  // namespace

std::vector<std::string> odd_text(const findings::Finding& finding, std::size_t evidence,
                                  const merged::CollectiveRef& own) {
  constexpr std::string_view kNeverCame = "never came: ";
  std::string_view detail = finding.evidence[evidence].detail;
  std::int32_t rank = finding.evidence[evidence].rank;
  if (detail.starts_with(kNeverCame))
    return {fmt::format("rank {} never comes", rank), std::string(detail.substr(kNeverCame.size()))};
  if (own.communicator == merged::kNone) return {};
  // Of a call left out or made once more the order is lost at the first, and the calls differ at the second.
  for (std::string_view begin : {"instead: ", "the first that differ: "}) {
    if (!detail.starts_with(begin)) continue;
    std::string_view what = detail.substr(0, detail.find(',')).substr(begin.size());
    return {fmt::format("rank {} {}", rank, accusation(finding)),
            fmt::format("its #{} is: {}", own.sequence, what)};
  }
  return {};
}

}  // namespace ddpscope::viewer
