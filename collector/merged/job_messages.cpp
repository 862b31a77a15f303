// What ordering pairs, and what is left without another end.
#include "collector/merged/job_messages.h"

#include <algorithm>

#include "collector/ordering/messages.h"

namespace ddpscope::merged {
namespace {

constexpr std::uint64_t kMostArrivals = 200'000'000;  // calls times members

struct Message {
  std::int64_t first_ns;
  std::uint32_t send = kNone, receive = kNone;  // numbers of calls; kNone: nobody made it

  std::uint32_t call() const { return send == kNone ? receive : send; }
};

class MessageWalk {
 public:
  MessageWalk(const matching::Collectives& collectives, std::uint32_t communicator,
              const CallArrivals& arrivals)
      : collectives_(collectives),
        communicator_(collectives.communicators[communicator]),
        arrivals_(arrivals) {}

  std::vector<Message> find() const;
  Collective collective_of(const Message& message) const;

 private:
  const matching::CallForm& form(std::uint32_t call) const { return collectives_.calls.form(call); }
  std::size_t member_numbered(std::int32_t rank_in_communicator) const;
  void put_arrival(std::uint32_t call, Collective& collective) const;
  void put_missing(const Message& message, Collective& collective) const;

  const matching::Collectives& collectives_;
  const matching::Communicator& communicator_;
  const CallArrivals& arrivals_;
};

std::vector<Message> MessageWalk::find() const {
  std::vector<Message> messages;
  std::vector<std::uint32_t> paired;
  auto begin_ns = [&](std::uint32_t call) { return collectives_.calls.begin_ns(call); };
  for (auto [send, receive] : ordering::pair_messages(collectives_, communicator_)) {
    messages.push_back({std::min(begin_ns(send), begin_ns(receive)), send, receive});
    paired.insert(paired.end(), {send, receive});
  }
  std::sort(paired.begin(), paired.end());
  for (const matching::Member& member : communicator_.members)
    for (std::uint32_t call : member.point_to_point) {
      if (std::binary_search(paired.begin(), paired.end(), call)) continue;
      bool sends = form(call).signature.operation == trace::Operation::kSend;
      messages.push_back({begin_ns(call), sends ? call : kNone, sends ? kNone : call});
    }
  std::sort(messages.begin(), messages.end(), [](const Message& a, const Message& b) {
    return std::tuple(a.first_ns, a.call()) < std::tuple(b.first_ns, b.call());
  });
  return messages;
}

std::size_t MessageWalk::member_numbered(std::int32_t rank_in_communicator) const {
  auto found =
      std::ranges::find(communicator_.members, rank_in_communicator, &matching::Member::rank_in_communicator);
  return static_cast<std::size_t>(found - communicator_.members.begin());
}

// A rank may send to itself: then it is there until both are over.
void MessageWalk::put_arrival(std::uint32_t call, Collective& collective) const {
  Arrival arrival = arrivals_.of(call);
  Arrival& own = collective.arrivals[form(call).member];
  if (own.arrival_ns == kNever)
    own = arrival;
  else
    own.end_ns = std::max(own.end_ns, arrival.end_ns);
  collective.max_severity = std::max(collective.max_severity, arrivals_.severity_of(arrival));
  collective.flags |= arrival.flags;
}

void MessageWalk::put_missing(const Message& message, Collective& collective) const {
  std::size_t other = member_numbered(form(message.call()).peer);
  if (other == communicator_.members.size() || communicator_.members[other].incomplete) return;
  collective.arrivals[other].flags = kMissing;
  collective.flags |= kMissing;
}

Collective MessageWalk::collective_of(const Message& message) const {
  Collective collective;
  collective.arrivals.resize(communicator_.members.size());
  matching::Signature signature = form(message.call()).signature;
  signature.root = form(message.call()).peer;
  collective.signatures = {signature};
  for (std::uint32_t call : {message.send, message.receive})
    if (call != kNone) put_arrival(call, collective);
  if (message.send == kNone || message.receive == kNone) {
    put_missing(message, collective);
    return collective;
  }
  matching::Signature received = form(message.receive).signature;
  if (matching::bytes_of(received) == matching::bytes_of(signature)) return collective;
  received.root = form(message.receive).peer;
  collective.signatures.push_back(received);
  collective.arrivals[form(message.receive).member].signature = 1;
  collective.flags |= kMismatched;
  return collective;
}

}  // namespace

bool are_too_many(const matching::Communicator& communicator) {
  std::uint64_t calls = 0;
  for (const matching::Member& member : communicator.members) calls += member.point_to_point.size();
  return calls * communicator.members.size() > kMostArrivals;
}

void write_messages(Making& making, const matching::Collectives& collectives, std::uint32_t communicator,
                    const CallArrivals& arrivals) {
  if (are_too_many(collectives.communicators[communicator])) return;
  MessageWalk walk(collectives, communicator, arrivals);
  std::vector<Message> messages = walk.find();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    Collective collective = walk.collective_of(messages[i]);
    collective.sequence = i;
    making.writer.add_collective(collective);
  }
}

}  // namespace ddpscope::merged
