// What a collective looks like, from when its members came and went.
#include "viewer/timeline/collective_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "collector/model/nccl_types.h"

namespace ddpscope::viewer {
namespace {

using merged::Arrival;
using merged::kNever;
using merged::kUnknown;

struct Most {
  std::uint32_t signature = 0;
  bool contested = false;
};
Most most_issued(const merged::Collective& collective) {
  std::map<std::uint32_t, std::size_t> counts;
  for (const Arrival& arrival : collective.arrivals)
    if (arrival.arrival_ns != kNever) ++counts[arrival.signature];
  auto most = std::max_element(counts.begin(), counts.end(),
                               [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == counts.end()) return {};
  auto as_many = std::count_if(counts.begin(), counts.end(),
                               [&](const auto& count) { return count.second == most->second; });
  return {most->first, as_many > 1};
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

bool is_troubled(std::uint8_t flags) {
  return flags & (merged::kMissing | merged::kMismatched | merged::kNeverCompleted);
}

bool holds_up(std::uint8_t flags) {
  return flags & merged::kMissing || (flags & merged::kMismatched && flags & merged::kNeverCompleted);
}

namespace {

// Of a member by itself. What is not known of its end is kUnknown.
MemberShape member_of(const Arrival& arrival, Most most, std::int64_t run_end_ns, bool message) {
  MemberShape member;
  member.absent = arrival.arrival_ns == kNever;
  member.outside = message && member.absent && !(arrival.flags & merged::kMissing);
  member.takes_part = !member.absent && !most.contested && arrival.signature == most.signature;
  member.elsewhere = !member.absent && !member.takes_part;
  member.never = !member.absent && arrival.end_ns == kNever;
  member.timed = arrival.flags & merged::kTimed && arrival.begin_ns != kUnknown &&
                 arrival.end_ns != kUnknown && arrival.end_ns != kNever;
  member.came_ns = arrival.arrival_ns;
  // A stream that is still busy with what was before it does not wait for the others yet.
  member.from_ns = arrival.begin_ns > arrival.arrival_ns && arrival.begin_ns < kNever ? arrival.begin_ns
                                                                                      : arrival.arrival_ns;
  member.to_ns = member.never ? std::max(run_end_ns, member.from_ns) : arrival.end_ns;
  return member;
}

Kind kind_of(const merged::Reader& reader, const merged::Collective& collective, const Arrival& arrival,
             bool may_wait) {
  if (collective.signatures.size() < 2 || arrival.event == merged::kNoEvent) return collective.kind;
  std::uint64_t leaf = arrival.event.index / merged::kLeafEvents;
  if (!may_wait && !reader.leaves_ready(arrival.event.track, leaf, leaf + 1)) {
    reader.want_leaves(arrival.event.track, leaf, leaf + 1);
    return collective.kind;
  }
  Kind kind = reader.event(arrival.event).kind;
  return kind == Kind::kBarrier ? kind : Kind::kCollective;  // a graph's launch is neither
}

// When it began and was over, from its members.
void sum_up(CollectiveShape& shape, bool troubled, std::int64_t run_end_ns) {
  shape.first_ns = kNever, shape.last_arrival_ns = 0, shape.never = false;
  std::int64_t end_ns = kUnknown;
  for (const MemberShape& member : shape.members) {
    if (member.absent || (member.elsewhere && !shape.contested)) continue;
    shape.first_ns = std::min(shape.first_ns, troubled ? member.came_ns : member.from_ns);
    shape.last_arrival_ns = std::max(shape.last_arrival_ns, member.from_ns);
    shape.never |= member.never;
  }
  for (const MemberShape& member : shape.members)
    if (!member.absent && member.to_ns != kUnknown && !member.never) end_ns = std::max(end_ns, member.to_ns);
  // Of whose end nothing is known, it is over when the others are; at the earliest when all have come.
  shape.end_ns = shape.never ? run_end_ns : std::max(end_ns, shape.last_arrival_ns);
  if (shape.first_ns == kNever) shape.first_ns = shape.end_ns;
}

CollectiveShape alone(const merged::Reader& reader, const merged::Collective& collective, bool may_wait) {
  CollectiveShape shape;
  Most most = most_issued(collective);
  shape.kind = collective.kind, shape.signature = most.signature, shape.contested = most.contested;
  shape.message = collective.is_message();
  for (const Arrival& arrival : collective.arrivals) {
    MemberShape& member =
        shape.members.emplace_back(member_of(arrival, most, reader.job().duration_ns, shape.message));
    member.kind = kind_of(reader, collective, arrival, may_wait);
    if (member.takes_part && collective.signatures.size() > 1) shape.kind = member.kind;
  }
  return shape;
}

// When the devices of its members were done with it; kUnknown if none was timed.
std::int64_t devices_done(const CollectiveShape& shape) {
  std::int64_t done = kUnknown;
  for (const MemberShape& member : shape.members)
    if (member.takes_part && member.timed) done = std::max(done, member.to_ns);
  return done;
}

// Up to when a member of `own` can be in it, as `next`, whose ends are final, follows.
std::int64_t latest_end(bool held_up, const CollectiveShape& own, const CollectiveShape& next,
                        std::size_t i) {
  const MemberShape &member = own.members[i], &after = next.members[i];
  if (after.absent || member.absent) return kNever;
  std::int64_t latest = after.timed ? after.from_ns : after.to_ns;
  if (member.timed) return latest;
  if (std::int64_t done = devices_done(own); done != kUnknown)
    latest = std::min(latest, done);
  else if (!held_up)
    latest = std::min(latest, after.came_ns);
  return latest;
}

void end_at(MemberShape& member, std::int64_t latest_ns) {
  if (member.absent || latest_ns >= member.to_ns) return;
  member.to_ns = std::max(latest_ns, member.came_ns);
  member.never = false;
}

void begin_after(const CollectiveShape* before, CollectiveShape& own, bool in_trouble) {
  for (std::size_t i = 0; i < own.members.size(); ++i) {
    MemberShape& member = own.members[i];
    if (member.absent) continue;
    bool was_in = before && i < before->members.size() && !before->members[i].absent;
    std::int64_t free_ns = was_in ? std::max(member.came_ns, before->members[i].to_ns) : member.came_ns;
    if (!member.timed) member.from_ns = std::max(member.from_ns, free_ns);
    member.came_ns = in_trouble ? std::min(free_ns, member.from_ns) : member.from_ns;
    member.to_ns = std::max(member.to_ns, member.from_ns);
  }
}

// A part is missing from when the others come, but not while its member is in the one before, nor where it is
// absent from that, too: that is one hole.
void place_holes(const CollectiveShape* before, CollectiveShape& own) {
  for (std::size_t i = 0; i < own.members.size(); ++i) {
    MemberShape& member = own.members[i];
    if (member.takes_part) continue;
    member.missing_ns = own.first_ns;
    if (before && i < before->members.size())
      member.missing_ns = std::max(member.missing_ns, before->members[i].to_ns);
    if (!member.absent) continue;
    member.from_ns = member.missing_ns;
    member.to_ns = std::max(own.end_ns, member.from_ns);
  }
}

// Those whose end nothing tells leave with the others; none leave what is held up.
void end_unknown(CollectiveShape& shape, bool held_up, std::int64_t run_end_ns) {
  bool known = std::any_of(shape.members.begin(), shape.members.end(), [](const MemberShape& member) {
    return !member.absent && member.to_ns != kUnknown;
  });
  for (MemberShape& member : shape.members) {
    if (member.absent || member.to_ns != kUnknown) continue;
    member.never = held_up && !known;
    member.to_ns = std::max(member.never ? run_end_ns : shape.end_ns, member.from_ns);
  }
}

bool completes(const merged::Collective& collective) {
  return std::any_of(collective.arrivals.begin(), collective.arrivals.end(), [](const Arrival& arrival) {
    return arrival.end_ns != kNever && arrival.end_ns != kUnknown;
  });
}

// Which are not over before the run is ended: one that holds up, and what comes behind it, unless that is
// seen to complete.
std::vector<bool> held_up_of(const std::vector<merged::Collective>& collectives) {
  std::vector<bool> held_up;
  for (const merged::Collective& collective : collectives) {
    bool behind = !held_up.empty() && held_up.back() && !completes(collective);
    held_up.push_back(behind || holds_up(collective.flags));
  }
  return held_up;
}

std::vector<CollectiveShape> alone_in_order(std::vector<CollectiveShape> shapes,
                                            const std::vector<merged::Collective>& collectives,
                                            std::int64_t run_end_ns) {
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    bool in_trouble = is_troubled(collectives[k].flags);
    sum_up(shapes[k], in_trouble, run_end_ns);
    end_unknown(shapes[k], holds_up(collectives[k].flags), run_end_ns);
    begin_after(nullptr, shapes[k], in_trouble);
    sum_up(shapes[k], in_trouble, run_end_ns);
    place_holes(nullptr, shapes[k]);
  }
  return shapes;
}

}  // namespace

CollectiveShape shape_of(const merged::Reader& reader, const merged::Collective& collective, bool may_wait) {
  return shapes_in_order(reader, {collective}, may_wait).front();
}

std::vector<CollectiveShape> shapes_in_order(const merged::Reader& reader,
                                             const std::vector<merged::Collective>& collectives,
                                             bool may_wait) {
  std::int64_t run_end_ns = reader.job().duration_ns;
  std::vector<CollectiveShape> shapes;
  for (const merged::Collective& collective : collectives)
    shapes.push_back(alone(reader, collective, may_wait));
  if (!shapes.empty() && shapes.front().message)
    return alone_in_order(std::move(shapes), collectives, run_end_ns);
  std::vector<bool> held_up = held_up_of(collectives);
  for (std::size_t k = shapes.size(); k-- > 0;) {
    auto cut = [&] {
      if (k + 1 == shapes.size()) return;
      for (std::size_t i = 0; i < std::min(shapes[k].members.size(), shapes[k + 1].members.size()); ++i)
        end_at(shapes[k].members[i], latest_end(held_up[k], shapes[k], shapes[k + 1], i));
    };
    // Once before what is not known is taken from what is, and once with it.
    cut();
    sum_up(shapes[k], true, run_end_ns);
    end_unknown(shapes[k], held_up[k], run_end_ns);
    cut();
  }
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    const CollectiveShape* before = k > 0 ? &shapes[k - 1] : nullptr;
    bool in_trouble = is_troubled(collectives[k].flags);
    begin_after(before, shapes[k], in_trouble);
    sum_up(shapes[k], in_trouble, run_end_ns);
    place_holes(before, shapes[k]);
  }
  return shapes;
}

std::optional<CollectiveShape> shape_at(const merged::Reader& reader, std::uint32_t communicator,
                                        std::uint64_t sequence) {
  std::uint64_t before = std::min<std::uint64_t>(sequence, 1);
  auto some = reader.collectives(communicator, sequence - before, sequence + 2);
  if (!some || some->size() <= before) return std::nullopt;
  return shapes_in_order(reader, *some)[before];
}

std::string signature_text(const matching::Signature& signature) {
  std::string text = fmt::format("{} {}×{}", short_name(signature.operation),
                                 model::datatype_name(signature.datatype), grouped(signature.count));
  if (signature.root < 0) return text;
  const char* other = signature.operation == trace::Operation::kSend      ? "to"
                      : signature.operation == trace::Operation::kReceive ? "from"
                                                                          : "root";
  return text + fmt::format(" {} {}", other, signature.root);
}

namespace {

std::string text_of(const merged::Collective& collective, std::uint32_t signature, Kind kind) {
  std::string what = signature < collective.signatures.size()
                         ? signature_text(collective.signatures[signature])
                         : std::string("collective");
  if (kind == Kind::kBarrier) what = "barrier (" + what + ")";
  return fmt::format("#{} {}", collective.sequence, what);
}

}  // namespace

std::string collective_text(const merged::Collective& collective, const CollectiveShape& shape) {
  return text_of(collective, shape.signature, shape.kind);
}

std::string member_text(const merged::Collective& collective, const CollectiveShape& shape,
                        std::size_t member) {
  return text_of(collective, collective.arrivals[member].signature, shape.members[member].kind);
}

}  // namespace ddpscope::viewer
