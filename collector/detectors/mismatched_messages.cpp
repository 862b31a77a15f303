// NCCL pairs the n-th send from one rank to another with that one's n-th receive from it, and compares
// nothing: if their sizes differ, one of them hangs, or the next message gets what is left over.
#include "collector/detectors/mismatched_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "collector/detectors/story.h"
#include "collector/ordering/messages.h"

namespace ddpscope::detectors {
namespace {

using matching::CallForm;
using matching::kNone;

struct Pair {
  std::uint32_t send, receive;  // calls
};

bool differ(const Facts& facts, const Pair& pair) {
  const auto& calls = facts.collectives.calls;
  const CallForm &send = calls.form(pair.send), &receive = calls.form(pair.receive);
  if (facts.collectives.member_of(send).incomplete || facts.collectives.member_of(receive).incomplete)
    return false;
  return matching::bytes_of(send.signature) != matching::bytes_of(receive.signature);
}

// Behind the first pair that differs, all between the same two ranks may be shifted by a message that one of
// them left out: nothing more is known of them.
std::vector<Pair> first_differences(const Facts& facts, const matching::Communicator& communicator) {
  std::vector<Pair> first;
  std::set<std::pair<std::uint32_t, std::uint32_t>> known;  // members
  for (const auto& [send, receive] : ordering::pair_messages(facts.collectives, communicator)) {
    std::pair ends(facts.collectives.calls.form(send).member, facts.collectives.calls.form(receive).member);
    if (!known.contains(ends) && differ(facts, {send, receive})) {
      known.insert(ends);
      first.push_back({send, receive});
    }
  }
  return first;
}

std::string describe(const Facts& facts, std::uint32_t number) {
  const ordering::Completion& completion = facts.device_order.completions[number];
  std::string text = matching::to_text(facts.collectives.calls.signature(number));
  if (completion.wait == kNone && completion.blocked != kNone)
    text += fmt::format(", not seen to complete: the host waits from {} on",
                        seconds(facts.device_order.waits[completion.blocked].begin_ns));
  return text;
}

findings::Place place_of(const Facts& facts, const Pair& pair, std::vector<std::int32_t> ranks) {
  std::sort(ranks.begin(), ranks.end());
  const auto& calls = facts.collectives.calls;
  return facts.rounds.place(
      ranks, std::min(calls.begin_ns(pair.send), calls.begin_ns(pair.receive)),
      std::max(facts.device_order.complete_ns(pair.send), facts.device_order.complete_ns(pair.receive)));
}

std::string key_of(const Facts& facts, const matching::CollectiveCall& call) {
  return fmt::format("{} {}", matching::name_of(call.signature.operation), facts.places.whole(call.called));
}

// `pairs`: of one line that sends and one that receives.
findings::Finding describe_mismatch(const Facts& facts, const std::vector<Pair>& pairs) {
  const matching::CollectiveCall send = facts.collectives.calls[pairs.front().send],
                                 receive = facts.collectives.calls[pairs.front().receive];
  std::int32_t sender = facts.collectives.member_of(send).rank,
               receiver = facts.collectives.member_of(receive).rank;
  findings::Finding finding;
  finding.slug = "mismatched-collective";
  finding.confidence = findings::Confidence::kCertain;
  std::set<std::int32_t> ranks;
  for (const Pair& pair : pairs)
    for (std::uint32_t call : {pair.send, pair.receive})
      ranks.insert(facts.collectives.member_of(facts.collectives.calls.form(call)).rank);
  finding.ranks.assign(ranks.begin(), ranks.end());
  finding.title =
      fmt::format("the {}{} from rank {} meets the {}{} on rank {}: the sizes differ, {} and {} bytes",
                  matching::to_text(send.signature), at(facts.places.of(send)), sender,
                  matching::to_text(receive.signature), at(facts.places.of(receive)), receiver,
                  matching::bytes_of(send.signature), matching::bytes_of(receive.signature));
  if (pairs.size() > 1) finding.title += fmt::format("; so do {} more pairs of ranks", pairs.size() - 1);
  finding.advice =
      "Send and receive the same number of bytes: let both ranks compute the count from the same values, or "
      "send the count first. If one of the two ranks skips a message, pair each send with its receive.";
  for (std::uint32_t call : {pairs.front().send, pairs.front().receive})
    finding.evidence.push_back(
        evidence_of(facts.job, facts.collectives, facts.collectives.calls[call], describe(facts, call)));
  for (const auto* call : {&send, &receive}) add_captured(facts, *call, finding);
  finding.place = place_of(facts, pairs.front(), finding.ranks);
  finding.first_ns = std::min(send.begin_ns, receive.begin_ns);
  finding.last_ns = finding.place.to_ns;
  finding.key = fmt::format("message {} {}", key_of(facts, send), key_of(facts, receive));
  return finding;
}

}  // namespace

void detect_mismatched_messages(const Facts& facts, findings::Outcome& outcome) {
  for (const matching::Communicator& communicator : facts.collectives.communicators) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Pair>> by_lines;
    for (const Pair& pair : first_differences(facts, communicator))
      by_lines[{facts.collectives.calls.form(pair.send).site,
                facts.collectives.calls.form(pair.receive).site}]
          .push_back(pair);
    for (const auto& [lines, pairs] : by_lines) outcome.findings.push_back(describe_mismatch(facts, pairs));
  }
}

}  // namespace ddpscope::detectors
