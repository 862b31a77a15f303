// Times as distances from the first arrival, places as distances from the member's place before.
#include "collector/merged/collective_code.h"

#include <algorithm>

#include "collector/model/job.h"

namespace ddpscope::merged {
namespace {

constexpr std::uint64_t kUnknownCode = 0, kNeverCode = 1, kFirstCode = 2;

std::uint64_t folded(std::int64_t number) {
  return static_cast<std::uint64_t>(number) << 1 ^ static_cast<std::uint64_t>(number >> 63);
}

void put_time(std::int64_t ns, std::int64_t base_ns, ByteWriter& out) {
  if (ns == kUnknown) return out.put_short(kUnknownCode);
  if (ns == kNever) return out.put_short(kNeverCode);
  out.put_short(folded(model::limited(ns) - base_ns) + kFirstCode);
}

std::int64_t get_time(std::int64_t base_ns, ByteReader& in) {
  std::uint64_t code = in.get_short();
  if (code == kUnknownCode) return kUnknown;
  if (code == kNeverCode) return kNever;
  std::uint64_t number = code - kFirstCode;
  auto distance = static_cast<std::int64_t>(number >> 1 ^ (~(number & 1) + 1));
  return model::limited(model::limited(base_ns) + model::limited(distance));
}

std::int64_t base_of(const Collective& collective) {
  std::int64_t base = kNever;
  for (const Arrival& arrival : collective.arrivals)
    if (arrival.arrival_ns != kNever) base = std::min(base, model::limited(arrival.arrival_ns));
  return base == kNever ? 0 : base;
}

void put_signature(const matching::Signature& signature, ByteWriter& out) {
  out.put(signature.operation);
  out.put(signature.datatype);
  out.put(signature.reduction);
  out.put_near(signature.root);
  out.put_short(signature.count);
}

matching::Signature get_signature(ByteReader& in) {
  matching::Signature signature;
  signature.operation = in.get<trace::Operation>();
  signature.datatype = in.get<std::uint8_t>();
  signature.reduction = in.get<std::uint8_t>();
  signature.root = static_cast<std::int32_t>(in.get_near());
  signature.count = in.get_short();
  return signature;
}

using Places = std::vector<EventPlace>;  // of each member, as met last

void put_arrival(const Arrival& arrival, std::int64_t base_ns, EventPlace& before, ByteWriter& out) {
  out.put(arrival.flags);
  out.put_short(arrival.signature);
  put_time(arrival.arrival_ns, base_ns, out);
  put_time(arrival.begin_ns, base_ns, out);
  put_time(arrival.end_ns, base_ns, out);
  bool placed = arrival.event.track != kNone;
  out.put_near(placed ? std::int64_t{arrival.event.track} - before.track : -std::int64_t{before.track} - 1);
  if (!placed) return;
  out.put_near(static_cast<std::int64_t>(arrival.event.index - before.index));
  before = arrival.event;
}

Arrival get_arrival(std::int64_t base_ns, EventPlace& before, ByteReader& in) {
  Arrival arrival;
  arrival.flags = in.get<std::uint8_t>();
  arrival.signature = static_cast<std::uint32_t>(in.get_short());
  arrival.arrival_ns = get_time(base_ns, in);
  arrival.begin_ns = get_time(base_ns, in);
  arrival.end_ns = get_time(base_ns, in);
  std::int64_t track = static_cast<std::int64_t>(before.track + static_cast<std::uint64_t>(in.get_near()));
  if (track < 0) return arrival;
  before.track = static_cast<std::uint32_t>(track);
  before.index += static_cast<std::uint64_t>(in.get_near());
  arrival.event = before;
  return arrival;
}

}  // namespace

void put_collectives(std::span<const Collective> block, ByteWriter& out) {
  Places before;
  std::int64_t base_before = 0;
  for (const Collective& collective : block) {
    out.put(collective.kind);
    out.put(collective.flags);
    out.put(collective.max_severity);
    out.put_short(collective.signatures.size());
    for (const matching::Signature& signature : collective.signatures) put_signature(signature, out);
    std::int64_t base = base_of(collective);
    out.put_near(base - base_before);
    base_before = base;
    before.resize(std::max(before.size(), collective.arrivals.size()), EventPlace{0, 0});
    for (std::size_t i = 0; i < collective.arrivals.size(); ++i)
      put_arrival(collective.arrivals[i], base, before[i], out);
  }
}

std::optional<std::vector<Collective>> get_collectives(std::span<const unsigned char> bytes,
                                                       std::uint64_t first, std::size_t count,
                                                       std::size_t members) {
  constexpr std::size_t kLeastArrivalBytes = 6;
  ByteReader in(bytes);
  if (count * members > bytes.size() / kLeastArrivalBytes) return std::nullopt;
  std::vector<Collective> block(count);
  Places before(members, EventPlace{0, 0});
  std::int64_t base = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Collective& collective = block[i];
    collective.sequence = first + i;
    collective.kind = in.get<Kind>() == Kind::kBarrier ? Kind::kBarrier : Kind::kCollective;
    collective.flags = in.get<std::uint8_t>();
    collective.max_severity = in.get<std::uint8_t>();
    collective.signatures.resize(in.get_count(5));
    for (matching::Signature& signature : collective.signatures) signature = get_signature(in);
    base = model::limited(base + model::limited(in.get_near()));
    collective.arrivals.reserve(members);
    for (std::size_t member = 0; member < members; ++member) {
      collective.arrivals.push_back(get_arrival(base, before[member], in));
      std::uint32_t& signature = collective.arrivals.back().signature;
      if (signature >= collective.signatures.size()) signature = 0;
    }
    if (!in.ok() || collective.signatures.empty()) return std::nullopt;
  }
  return block;
}

CollectiveNode node_of(const Collective& collective) {
  CollectiveNode node{kNever, kUnknown, kUnknown, 0, 1, 0, 0, 0, 0, 0, 0};
  for (std::uint32_t member = 0; member < collective.arrivals.size(); ++member) {
    const Arrival& arrival = collective.arrivals[member];
    node.last_end_ns = std::max(node.last_end_ns, arrival.end_ns);
    if (arrival.arrival_ns == kNever) continue;
    node.first_arrival_ns = std::min(node.first_arrival_ns, arrival.arrival_ns);
    if (arrival.arrival_ns > node.last_arrival_ns) node.latest_member = member;
    node.last_arrival_ns = std::max(node.last_arrival_ns, arrival.arrival_ns);
  }
  if (node.first_arrival_ns == kNever) node.first_arrival_ns = node.last_arrival_ns = 0;
  if (collective.flags & kNeverCompleted) node.last_end_ns = kNever;
  if (node.last_end_ns == kUnknown) node.last_end_ns = node.last_arrival_ns;
  node.waited_ns = static_cast<std::uint64_t>(node.last_arrival_ns - node.first_arrival_ns);
  const matching::Signature signature =
      collective.signatures.empty() ? matching::Signature{} : collective.signatures.front();
  node.operation = static_cast<std::uint8_t>(signature.operation);
  node.kind = static_cast<std::uint8_t>(collective.kind);
  node.flags = collective.flags;
  node.max_severity = collective.max_severity;
  return node;
}

CollectiveNode node_of(std::span<const CollectiveNode> children) {
  CollectiveNode node = children.front();
  std::uint64_t longest = 0;
  node.count = 0;
  node.waited_ns = 0;
  for (const CollectiveNode& child : children) {
    node.first_arrival_ns = std::min(node.first_arrival_ns, child.first_arrival_ns);
    node.last_arrival_ns = std::max(node.last_arrival_ns, child.last_arrival_ns);
    node.last_end_ns = std::max(node.last_end_ns, child.last_end_ns);
    node.count += child.count;
    node.waited_ns += child.waited_ns;
    node.flags |= child.flags;
    node.max_severity = std::max(node.max_severity, child.max_severity);
    if (child.waited_ns <= longest) continue;
    longest = child.waited_ns;
    node.latest_member = child.latest_member;
    node.operation = child.operation;
    node.kind = child.kind;
  }
  return node;
}

}  // namespace ddpscope::merged
