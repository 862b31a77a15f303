// What a collective looks like, from when its members came and went.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "collector/model/nccl_types.h"
#include "viewer/timeline/collective_walk.h"

namespace ddpscope::viewer {
namespace {

using merged::Arrival;
using merged::kNever;
using merged::kUnknown;

std::uint32_t most_issued(const merged::Collective& collective) {
  std::map<std::uint32_t, std::size_t> counts;
  for (const Arrival& arrival : collective.arrivals)
    if (arrival.arrival_ns != kNever) ++counts[arrival.signature];
  auto most = std::max_element(counts.begin(), counts.end(),
                               [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? 0 : most->first;
}

std::string grouped(std::uint64_t number) {
  std::string digits = fmt::format("{}", number), text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

const char* short_name(trace::Operation operation) {
  switch (operation) {
    case trace::Operation::kAllReduce:
      return "AllReduce";
    case trace::Operation::kAllGather:
      return "AllGather";
    case trace::Operation::kReduceScatter:
      return "ReduceScatter";
    case trace::Operation::kBroadcast:
      return "Broadcast";
    case trace::Operation::kReduce:
      return "Reduce";
    case trace::Operation::kAllToAll:
      return "AllToAll";
    case trace::Operation::kGather:
      return "Gather";
    case trace::Operation::kScatter:
      return "Scatter";
    case trace::Operation::kSend:
      return "Send";
    case trace::Operation::kReceive:
      return "Recv";
    default:
      return "collective";
  }
}

}  // namespace

CollectiveShape shape_of(const merged::Reader& reader, const merged::Collective& collective) {
  std::int64_t run_end_ns = reader.job().duration_ns;
  CollectiveShape shape;
  shape.kind = collective.kind;
  shape.signature = most_issued(collective);
  shape.first_ns = kNever;
  std::int64_t known_end = kUnknown;
  for (const Arrival& arrival : collective.arrivals) {
    MemberShape member;
    member.absent = arrival.arrival_ns == kNever;
    member.takes_part = !member.absent && arrival.signature == shape.signature;
    member.elsewhere = !member.absent && !member.takes_part;
    member.never = !member.absent && arrival.end_ns == kNever;
    // A stream that is still busy with what was before it does not wait for the others yet.
    member.from_ns = arrival.begin_ns > arrival.arrival_ns && arrival.begin_ns < kNever ? arrival.begin_ns
                                                                                        : arrival.arrival_ns;
    member.to_ns = member.never ? std::max(run_end_ns, member.from_ns) : arrival.end_ns;
    if (member.takes_part && collective.signatures.size() > 1 && arrival.event != merged::kNoEvent)
      shape.kind = reader.event(arrival.event).kind;
    if (member.takes_part) {
      shape.first_ns = std::min(shape.first_ns, member.from_ns);
      shape.last_arrival_ns = std::max(shape.last_arrival_ns, member.from_ns);
      shape.never |= member.never;
    }
    if (!member.absent && arrival.end_ns != kUnknown && !member.never)
      known_end = std::max(known_end, arrival.end_ns);
    shape.members.push_back(member);
  }
  // Of whose end nothing is known, it is over when the others are; at the earliest when all have come.
  shape.end_ns = shape.never ? run_end_ns : std::max(known_end, shape.last_arrival_ns);
  for (MemberShape& member : shape.members)
    if (!member.absent && member.to_ns == kUnknown) member.to_ns = std::max(shape.end_ns, member.from_ns);
  if (shape.first_ns == kNever) shape.first_ns = shape.end_ns;
  return shape;
}

void cut_at_next(CollectiveShape& shape, const CollectiveShape& next) {
  shape.never = false;
  for (std::size_t i = 0; i < std::min(shape.members.size(), next.members.size()); ++i) {
    MemberShape& member = shape.members[i];
    if (next.members[i].absent) {
      shape.never |= member.never;
      continue;
    }
    if (next.members[i].from_ns >= member.to_ns || member.absent) continue;
    member.to_ns = std::max(next.members[i].from_ns, member.from_ns);
    member.never = false;
  }
  std::int64_t last = shape.last_arrival_ns;
  for (const MemberShape& member : shape.members)
    if (member.takes_part) last = std::max(last, member.to_ns);
  shape.end_ns = std::min(shape.end_ns, last);
}

std::string signature_text(const matching::Signature& signature) {
  std::string text = fmt::format("{} {}×{}", short_name(signature.operation),
                                 model::datatype_name(signature.datatype), grouped(signature.count));
  if (signature.root >= 0) text += fmt::format(" root {}", signature.root);
  return text;
}

std::string collective_text(const merged::Collective& collective, const CollectiveShape& shape) {
  std::string what = shape.signature < collective.signatures.size()
                         ? signature_text(collective.signatures[shape.signature])
                         : std::string("collective");
  if (shape.kind == Kind::kBarrier) what = "barrier (" + what + ")";
  return fmt::format("#{} {}", collective.sequence, what);
}

}  // namespace ddpscope::viewer
