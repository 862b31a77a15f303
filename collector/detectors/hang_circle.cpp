// Tells the circle hang by hang.
#include "collector/detectors/hang_circle.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "collector/detectors/story.h"

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
    const Member& member = members(i)[waiting[k]];
    std::uint32_t number = hang(i).issued(facts_, waiting[k]);
    CollectiveCall issued = facts_.collectives.calls[number];
    finding.evidence.push_back(evidence_of(
        facts_.job, facts_.collectives, issued,
        fmt::format("{}: it needs {}", matching::to_text(issued.signature), list_ranks(cause_.ranks[i]))));
    std::uint32_t wait = facts_.device_order.completions[number].blocked;
    if (wait == matching::kNone) continue;
    findings::Evidence waits =
        evidence_of(facts_.job, facts_.device_order.waits[wait].event, "waits for it, in vain");
    waits.rank = member.rank;
    finding.evidence.push_back(std::move(waits));
  }
}

findings::Finding Circle::tell() const {
  findings::Finding finding;
  finding.slug = "hung-collective";
  // None of them can go on before another one does.
  finding.confidence =
      cause_.by_another_thread.empty() ? findings::Confidence::kCertain : findings::Confidence::kLikely;
  finding.ranks = at_fault();
  finding.title = title();
  finding.advice =
      "Let every rank run the collectives of all communicators in one order; where that order depends on the "
      "rank, make the ranks meet in between, or start all calls before waiting for any.";
  std::set<std::int32_t> all;
  std::set<std::string> calls;
  finding.first_ns = ordering::kNever;
  for (std::size_t i = 0; i < size(); ++i) {
    add_evidence(i, finding);
    for (const Member& member : members(i)) all.insert(member.rank);
    finding.first_ns = std::min(finding.first_ns, call(i).begin_ns);
    calls.insert(
        fmt::format("{} {}", matching::to_text(call(i).signature), facts_.places.whole(call(i).event)));
  }
  finding.last_ns = facts_.job.duration_ns;
  finding.place = facts_.rounds.place({all.begin(), all.end()}, finding.first_ns, ordering::kNever);
  finding.key = "circle";
  for (const std::string& one : calls) finding.key += " " + one;
  return finding;
}

}  // namespace

findings::Finding tell_circle(const CallFacts& facts, const std::vector<Hang>& hangs,
                              const HangCause& cause) {
  return Circle(facts, hangs, cause).tell();
}

}  // namespace ddpscope::detectors
