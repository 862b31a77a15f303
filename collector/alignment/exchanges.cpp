// A host has begun its part at the begin of a call, and knows that others have begun theirs when a wait ends.
#include "collector/alignment/exchanges.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "collector/alignment/extents.h"
#include "collector/model/mix.h"
#include "collector/ordering/collective_shape.h"
#include "collector/ordering/communicator_makings.h"
#include "collector/ordering/device_order.h"
#include "collector/ordering/messages.h"
#include "collector/ordering/stream_line.h"

namespace ddpscope::alignment {
namespace {

using matching::Collectives;
using matching::Communicator;
using matching::Member;
using matching::Signature;
using model::Job;
using ordering::kNever;
using ordering::Shape;
using ordering::StreamEnd;
using ordering::Trust;

constexpr std::int64_t kNotBegun = std::numeric_limits<std::int64_t>::min();

// One host's part in a meeting: the latest begin of its ranks, and the earliest that one of them knew the
// end.
struct Part {
  std::int64_t begun_ns = kNotBegun;
  std::int64_t known_ns = kNever;
};

// Stretches of a process in which CUDA recorded for a graph what was enqueued, and ran nothing.
struct Captures {
  std::int64_t first_ns = kNever, last_ns = kNotBegun;
};

class Search {
 public:
  explicit Search(const Job& job)
      : job_(job),
        extents_(host_extents(job)),
        collectives_(matching::find_collectives(job)),
        device_order_(ordering::find_device_order(job, collectives_)) {}

  Exchanges run() {
    for (const Communicator& communicator : collectives_.communicators) {
      if (!spans_hosts(communicator)) continue;
      add_making(communicator);
      add_collectives(communicator);
      for (const auto& [sent, received] : ordering::pair_messages(collectives_, communicator))
        before(host_of_call(sent), begun(sent), host_of_call(received), known(received));
    }
    add_connections();
    return std::move(found_);
  }

 private:
  using Parts = std::map<std::uint32_t, Part>;  // by host

  std::uint32_t host_of(const Member& member) const { return job_.processes[member.process].host; }
  std::uint32_t host_of_call(std::uint32_t call) const {
    return host_of(collectives_.member_of(collectives_.calls.form(call)));
  }
  bool spans_hosts(const Communicator& communicator) const {
    return std::any_of(communicator.members.begin(), communicator.members.end(), [&](const Member& member) {
      return host_of(member) != host_of(communicator.members.front());
    });
  }

  void before(std::uint32_t host, std::int64_t ns, std::uint32_t other, std::int64_t other_ns);
  void meet(const Parts& parts);
  void add_making(const Communicator& communicator);
  void add_collectives(const Communicator& communicator);
  bool add_round(const std::vector<const Member*>& members, std::size_t ordinal);
  void add_connections();
  void add_connection(const StreamEnd& from, const StreamEnd& to);
  bool may_be_captured(std::uint32_t process, std::int64_t begin_ns, std::int64_t end_ns);
  std::int64_t begun(std::uint32_t call);
  std::int64_t known(std::uint32_t call);

  const Job& job_;
  const std::vector<Extent> extents_;
  const Collectives collectives_;
  const ordering::DeviceOrder device_order_;
  std::map<std::uint32_t, ordering::CommunicatorMakings> makings_;
  std::map<std::uint32_t, Captures> captures_;
  Exchanges found_;
};

void Search::before(std::uint32_t host, std::int64_t ns, std::uint32_t other, std::int64_t other_ns) {
  if (host == other || ns == kNotBegun || other_ns == kNever) return;
  std::pair pair = std::minmax(host, other);
  const Extent& extent = extents_[pair.first];
  OffsetBounds& bounds = found_.try_emplace(pair, extent.first_ns, extent.last_ns).first->second;
  if (host == pair.first)
    bounds.first_before_second(ns, other_ns);
  else
    bounds.second_before_first(ns, other_ns);
}

// The others with the first one: so the work is as many steps as there are hosts, and what two others know of
// each other they know by the first one as well.
void Search::meet(const Parts& parts) {
  const auto& [first, own] = *parts.begin();
  for (const auto& [host, part] : parts) {
    before(first, own.begun_ns, host, part.known_ns);
    before(host, part.begun_ns, first, own.known_ns);
  }
}

void Search::add_making(const Communicator& communicator) {
  Parts parts;
  for (const Member& member : communicator.members) {
    const auto& makings = makings_.try_emplace(member.process, job_, member.process).first->second;
    Part& part = parts[host_of(member)];
    part.begun_ns = std::max(part.begun_ns, makings.making(member).begin_ns);
    if (auto known = makings.known(member)) part.known_ns = std::min(part.known_ns, known->end_ns);
  }
  meet(parts);
}

// Of very many rounds as many as the time allows, drawn so that no step's pattern is met.
void Search::add_collectives(const Communicator& communicator) {
  std::vector<const Member*> members;
  std::size_t rounds = 0;
  for (const Member& member : communicator.members) {
    if (member.incomplete) continue;
    members.push_back(&member);
    rounds = std::max(rounds, member.calls.size());
  }
  constexpr std::size_t kMostCalls = 8'000'000;
  std::size_t every = rounds * members.size() / kMostCalls + 1;
  for (std::size_t round = 0; round < rounds; ++round)
    if (model::mix(0, round) % every == 0 && !add_round(members, round)) return;
}

// False: the members differ in what they call, and what is called from here on need not be what met.
bool Search::add_round(const std::vector<const Member*>& members, std::size_t ordinal) {
  const Signature* first = nullptr;
  Parts parts;
  Part root;
  std::uint32_t root_host = 0;
  for (const Member* member : members) {
    if (ordinal >= member->calls.size()) continue;
    std::uint32_t call = member->calls[ordinal];
    const Signature& own = collectives_.calls.signature(call);
    if (!first) first = &own;
    if (own != *first) return false;
    std::int64_t begun_ns = begun(call), known_ns = known(call);
    if (member->rank_in_communicator == own.root) root = {begun_ns, known_ns}, root_host = host_of(*member);
    Part& part = parts[host_of(*member)];
    part = {std::max(part.begun_ns, begun_ns), std::min(part.known_ns, known_ns)};
  }
  if (parts.size() < 2 || first->count == 0) return true;  // NCCL does nothing for no elements
  Shape shape = ordering::shape_of(first->operation);
  if (shape == Shape::kAllToAll) meet(parts);
  for (const auto& [host, part] : parts) {
    if (shape == Shape::kFromRoot) before(root_host, root.begun_ns, host, part.known_ns);
    if (shape == Shape::kToRoot) before(host, part.begun_ns, root_host, root.known_ns);
  }
  return true;
}

// From the first capture of the process to its last one, it is not known what ran when.
bool Search::may_be_captured(std::uint32_t process, std::int64_t begin_ns, std::int64_t end_ns) {
  auto [known, fresh] = captures_.try_emplace(process);
  Captures& captures = known->second;
  if (fresh)
    model::for_each(job_.processes[process].file, {trace::Operation::kCapture},
                    [&](model::EventPlace, const trace::Record& record) {
                      captures.first_ns = std::min(captures.first_ns, job_.begin_ns(process, record));
                      captures.last_ns = std::max(captures.last_ns, job_.end_ns(process, record));
                    });
  return begin_ns <= captures.last_ns && end_ns >= captures.first_ns;
}

std::int64_t Search::begun(std::uint32_t call) {
  std::int64_t begin_ns = collectives_.calls.begin_ns(call);
  std::uint32_t process = collectives_.member_of(collectives_.calls.form(call)).process;
  return may_be_captured(process, begin_ns, begin_ns) ? kNotBegun : begin_ns;
}

// An abort releases those who wait: what they waited for is not complete.
std::int64_t Search::known(std::uint32_t call) {
  std::int64_t known_ns = device_order_.complete_ns(call);
  const Member& member = collectives_.member_of(collectives_.calls.form(call));
  if (known_ns == kNever || known_ns >= std::min(member.aborted_ns, member.error_ns)) return kNever;
  bool captured = may_be_captured(member.process, collectives_.calls.begin_ns(call), known_ns);
  return captured ? kNever : known_ns;
}

void Search::add_connections() {
  ordering::StreamEnds streams = ordering::find_stream_ends(job_);
  for (const auto& [id, end] : streams.ends) {
    if (!end.peer || end.peer->host == id.host || end.datagrams || end.reused) continue;
    auto sender = streams.ends.find(*end.peer);
    if (sender == streams.ends.end() || std::max(sender->second.trust, end.trust) != Trust::kSeen) continue;
    add_connection(sender->second, end);
  }
}

// Only what one process on each side counts by itself: what others took or sent unseen would shift the bytes.
void Search::add_connection(const StreamEnd& from, const StreamEnd& to) {
  if (from.holders.size() > 1 || to.holders.size() > 1) return;
  ordering::Line sent = ordering::line_of(from.sent), received = ordering::line_of(to.received);
  auto part = sent.pieces.begin();
  for (const ordering::Piece& taken : received.pieces) {
    while (part != sent.pieces.end() && part->end <= taken.first) ++part;
    // The last byte was sent last, and is what this call took last.
    auto last = part;
    for (auto next = part; next != sent.pieces.end() && next->first < taken.end; ++next) last = next;
    if (last == sent.pieces.end() || last->first >= taken.end) continue;
    const ordering::Span &sending = last->transfer->call, &taking = taken.transfer->call;
    before(job_.processes[sending.thread.process].host, sending.begin_ns,
           job_.processes[taking.thread.process].host, taking.end_ns);
  }
}

}  // namespace

Exchanges find_exchanges(const Job& job) { return Search(job).run(); }

}  // namespace ddpscope::alignment
