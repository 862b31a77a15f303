// Tells the circle hang by hang.
#include "collector/detectors/hang_circle.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "collector/detectors/story.h"
#include "collector/detectors/vain_waits.h"

namespace ddpscope::detectors {
namespace {

using matching::CollectiveCall;
using matching::Member;
using Ranks = std::vector<std::int32_t>;

class Circle {
 public:
  Circle(const CallFacts& facts, const std::vector<Hang>& hangs, const HangCause& cause)
      : facts_(facts), hangs_(hangs), cause_(cause) {}

  findings::Finding tell() const;

 private:
  std::size_t size() const { return cause_.chain.size(); }
  const Hang& hang(std::size_t i) const { return hangs_[cause_.chain[i]]; }
  const std::vector<Member>& members(std::size_t i) const {
    return facts_.collectives.communicators[hang(i).communicator].members;
  }
  // Of the circle, those that wait in the hang: the one before misses them.
  const Ranks& waiting(std::size_t i) const { return cause_.ranks[(i + size() - 1) % size()]; }
  std::vector<std::uint32_t> waiting_members(std::size_t i) const;
  CollectiveCall call(std::size_t i) const;
  Ranks at_fault() const;
  std::string title() const;
  void add_evidence(std::size_t i, findings::Finding& finding) const;
  std::vector<const Hang*> unanswered() const;
  void tell_unanswered(const std::vector<const Hang*>& messages, findings::Finding& finding) const;
  void tell_order(findings::Finding& finding) const;
  std::int32_t rank_of(const Hang& hang, std::uint32_t member) const {
    return facts_.collectives.communicators[hang.communicator].members[member].rank;
  }

  const CallFacts& facts_;
  const std::vector<Hang>& hangs_;
  const HangCause& cause_;
};

std::vector<std::uint32_t> Circle::waiting_members(std::size_t i) const {
  std::vector<std::uint32_t> found;
  for (std::uint32_t m = 0; m < members(i).size(); ++m)
    if (std::binary_search(waiting(i).begin(), waiting(i).end(), members(i)[m].rank) &&
        hang(i).issued(facts_, m) != matching::kNone)
      found.push_back(m);
  return found;
}

CollectiveCall Circle::call(std::size_t i) const {
  std::vector<std::uint32_t> waiting = waiting_members(i);
  if (waiting.empty()) return hang(i).call(facts_);
  return facts_.collectives.calls[hang(i).issued(facts_, waiting.front())];
}

Ranks Circle::at_fault() const {
  std::set<std::int32_t> all;
  for (const Ranks& ranks : cause_.ranks) all.insert(ranks.begin(), ranks.end());
  const Ranks &a = cause_.ranks.front(), &b = cause_.ranks.back();
  if (size() > 2 || a.size() == b.size()) return {all.begin(), all.end()};
  return a.size() < b.size() ? a : b;
}

std::string Circle::title() const {
  std::string text = list_ranks(waiting(0));
  for (std::size_t i = 0; i < size(); ++i)
    text += fmt::format("{} {} in the {}{} for {}", i ? ", which" : "", verb(waiting(i), "waits", "wait"),
                        matching::to_text(call(i).signature), at(facts_.places.of(call(i).event)),
                        list_ranks(cause_.ranks[i]));
  std::size_t odd = at_fault().size();
  bool majority = size() == 2 && odd < waiting(0).size() + waiting(1).size();
  if (majority)
    text += fmt::format(": {} {} the two in another order than the others", list_ranks(at_fault()),
                        verb(at_fault(), "runs", "run"));
  if (const Ranks& guessed = cause_.by_another_thread; !guessed.empty())
    text +=
        fmt::format("; in {} the thread that is missing seems to wait for the other", list_ranks(guessed));
  return text;
}

void Circle::add_evidence(std::size_t i, findings::Finding& finding) const {
  constexpr std::size_t kFew = 3;  // ranks of each hang
  std::vector<std::uint32_t> waiting = waiting_members(i);
  for (std::size_t k = 0; k < std::min(waiting.size(), kFew); ++k) {
    std::uint32_t number = hang(i).issued(facts_, waiting[k]);
    CollectiveCall issued = facts_.collectives.calls[number];
    finding.evidence.push_back(evidence_of(
        facts_.job, facts_.collectives, issued,
        fmt::format("{}: it needs {}", matching::to_text(issued.signature), list_ranks(cause_.ranks[i]))));
    add_vain_wait(facts_, hang(i), waiting[k], finding);
  }
}

// Sends and receives to which no counterpart was issued, if the circle is closed by such a one alone: all
// have come to its collectives, and wait there for those that stand behind it.
std::vector<const Hang*> Circle::unanswered() const {
  std::vector<const Hang*> found;
  auto add = [&](const Hang& one) {
    if (one.is_message() && one.answer == matching::kNone && !one.absent.empty()) found.push_back(&one);
  };
  for (std::size_t i = 0; i < size(); ++i) {
    if (!hang(i).is_message() && (hang(i).unknown || !hang(i).other.empty() || !hang(i).absent.empty()))
      return {};
    add(hang(i));
  }
  if (found.empty() || found.size() == size()) return {};  // of messages alone it is their order
  for (std::size_t other : cause_.others) add(hangs_[other]);
  std::sort(found.begin(), found.end(), [&](const Hang* a, const Hang* b) {
    return rank_of(*a, a->waiting.front()) < rank_of(*b, b->waiting.front());
  });
  return found;
}

// At fault is who all of them have in common: it waits for one rank while another one waits for it.
void Circle::tell_unanswered(const std::vector<const Hang*>& messages, findings::Finding& finding) const {
  constexpr std::size_t kFew = 4;
  std::map<std::int32_t, std::size_t> concerned;
  std::set<std::string> calls;
  for (const Hang* message : messages) {
    CollectiveCall issued = message->call(facts_);
    std::int32_t own = rank_of(*message, message->waiting.front()),
                 peer = rank_of(*message, message->absent.front());
    ++concerned[own], ++concerned[peer];
    calls.insert(
        fmt::format("{} {}", matching::to_text(issued.signature), facts_.places.whole(issued.event)));
    if (finding.evidence.size() >= kFew) continue;
    bool sends = issued.signature.operation == trace::Operation::kSend;
    std::string without = fmt::format("for which rank {} issued no {}", peer, sends ? "receive" : "send");
    finding.title += fmt::format("{}rank {} waits in the {} {} rank {}{}, {}",
                                 finding.title.empty() ? "" : "; ", own, matching::to_text(issued.signature),
                                 sends ? "to" : "from", peer, at(facts_.places.of(issued.event)), without);
    finding.evidence.push_back(
        evidence_of(facts_.job, facts_.collectives, issued,
                    fmt::format("{} {} rank {}, {}", matching::to_text(issued.signature),
                                sends ? "to" : "from", peer, without)));
  }
  for (std::size_t i = 0; i < size(); ++i)
    if (!hang(i).is_message()) {
      finding.title += fmt::format("; the {}{} stands behind", matching::to_text(call(i).signature),
                                   at(facts_.places.of(call(i).event)));
      add_evidence(i, finding);
    }
  bool common =
      std::any_of(concerned.begin(), concerned.end(), [](const auto& one) { return one.second > 1; });
  for (const auto& [rank, times] : concerned)
    if (!common || times > 1) finding.ranks.push_back(rank);
  finding.advice =
      "Give each send its receive, and each receive its send: let both sides find their partner by one rule, "
      "and let no branch of one side leave its call out. If that call comes behind one in which its rank "
      "waits, issue it before.";
  finding.key = fmt::format("unanswered {}", fmt::join(calls, " "));
}

void Circle::tell_order(findings::Finding& finding) const {
  finding.ranks = at_fault();
  finding.title = title();
  finding.advice =
      "Let every rank run the collectives of all communicators in one order; where that order depends on the "
      "rank, make the ranks meet in between, or start all calls before waiting for any.";
  std::set<std::string> calls;
  for (std::size_t i = 0; i < size(); ++i) {
    add_evidence(i, finding);
    calls.insert(
        fmt::format("{} {}", matching::to_text(call(i).signature), facts_.places.whole(call(i).event)));
  }
  finding.key = fmt::format("circle {}", fmt::join(calls, " "));
}

findings::Finding Circle::tell() const {
  findings::Finding finding;
  finding.slug = "hung-collective";
  // None of them can go on before another one does.
  finding.confidence =
      cause_.by_another_thread.empty() ? findings::Confidence::kCertain : findings::Confidence::kLikely;
  std::vector<const Hang*> messages = unanswered();
  messages.empty() ? tell_order(finding) : tell_unanswered(messages, finding);
  std::set<std::int32_t> all;
  finding.first_ns = ordering::kNever;
  for (std::size_t i = 0; i < size(); ++i) {
    for (const Member& member : members(i)) all.insert(member.rank);
    finding.first_ns = std::min(finding.first_ns, call(i).begin_ns);
  }
  finding.last_ns = facts_.job.duration_ns;
  finding.place = facts_.rounds.place({all.begin(), all.end()}, finding.first_ns, ordering::kNever);
  return finding;
}

}  // namespace

findings::Finding tell_circle(const CallFacts& facts, const std::vector<Hang>& hangs,
                              const HangCause& cause) {
  return Circle(facts, hangs, cause).tell();
}

}  // namespace ddpscope::detectors
