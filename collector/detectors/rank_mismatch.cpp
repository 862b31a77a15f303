// rank-mismatch: the environment's rank against the one under which a process joins, and numbers in names of
// files at which ranks collide (bugs c5 and 4.1 of the catalogue), and RANK 0 where each host needs a writer
// (a5).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "collector/detectors/colliding_numbers.h"
#include "collector/detectors/detector.h"
#include "collector/detectors/joined_twice.h"
#include "collector/detectors/other_disks.h"
#include "collector/detectors/story.h"
#include "collector/patterns/joined_ranks.h"

namespace ddpscope::detectors {
namespace {

using patterns::JoinedRank;
using patterns::WorldGroup;

constexpr std::size_t kMaxTold = 8;

enum class Verdict : std::uint8_t {
  kUnknown,   // the environment says nothing
  kAgrees,    // with every process of which it says something
  kReorders,  // it numbers the same processes, in another order
  kWrong,     // it gives one number to two, or one that nobody can have
};

std::map<std::int32_t, std::size_t> count_claims(const WorldGroup& group) {
  std::map<std::int32_t, std::size_t> claims;
  for (const JoinedRank& member : group.members)
    if (member.claim) ++claims[member.claim->rank];
  return claims;
}

bool differs(const JoinedRank& member) { return member.claim && member.claim->rank != member.rank; }

Verdict judge(const WorldGroup& group) {
  std::map<std::int32_t, std::size_t> claims = count_claims(group);
  if (claims.empty()) return Verdict::kUnknown;
  if (std::none_of(group.members.begin(), group.members.end(), differs)) return Verdict::kAgrees;
  bool wrong = std::any_of(claims.begin(), claims.end(), [&](const auto& claim) {
    return claim.first < 0 || claim.first >= group.size || claim.second > 1;
  });
  return wrong ? Verdict::kWrong : Verdict::kReorders;
}

std::vector<std::int32_t> shorten(std::vector<std::int32_t> ranks) {
  if (ranks.size() > kMaxTold) ranks.resize(kMaxTold);
  return ranks;
}

std::string list_some(const std::vector<std::int32_t>& numbers) {
  if (numbers.size() <= kMaxTold) return list_numbers(numbers);
  return fmt::format("{}, ...", fmt::join(shorten(numbers), ", "));
}

struct Mismatch {
  const WorldGroup& group;
  std::vector<const JoinedRank*> members;  // whose two numbers differ

  explicit Mismatch(const WorldGroup& of) : group(of) {
    for (const JoinedRank& member : group.members)
      if (differs(member)) members.push_back(&member);
  }
  const patterns::RankClaim& claim() const { return *members.front()->claim; }
  bool collides() const {
    auto claims = count_claims(group);
    return std::any_of(claims.begin(), claims.end(), [](const auto& claim) { return claim.second > 1; });
  }
};

// What nobody has, or several have.
std::string describe_effect(const Mismatch& mismatch) {
  const char* variable = mismatch.claim().variable;
  auto claims = count_claims(mismatch.group);
  bool complete = std::all_of(mismatch.group.members.begin(), mismatch.group.members.end(),
                              [](const JoinedRank& member) { return member.claim.has_value(); }) &&
                  std::cmp_equal(mismatch.group.members.size(), mismatch.group.size);
  if (complete && !claims.count(0))
    return fmt::format("; nobody has {} 0, which alone prepares and saves in many programs", variable);
  for (const auto& [rank, count] : claims)
    if (count > 1) return fmt::format("; {} of them have {} {}", count, variable, rank);
  return "";
}

std::string describe(const Facts& facts, const Mismatch& mismatch) {
  std::vector<std::int32_t> joined, claimed;
  for (const JoinedRank* member : mismatch.members) {
    joined.push_back(member->rank);
    claimed.push_back(member->claim->rank);
  }
  bool one = joined.size() == 1;
  std::string ranks =
      joined.size() > kMaxTold ? fmt::format("{}, ...", list_ranks(shorten(joined))) : list_ranks(joined);
  return fmt::format("{} {} as {} of {}{}{}", one ? "a process joins" : "processes join", "the group", ranks,
                     mismatch.group.size, at(facts.places.of(mismatch.members.front()->event)),
                     fmt::format(", though {} is {} there{}", mismatch.claim().variable, list_some(claimed),
                                 describe_effect(mismatch)));
}

void tell(const Facts& facts, const Mismatch& mismatch, findings::Outcome& outcome) {
  findings::Finding finding;
  finding.slug = "rank-mismatch";
  finding.confidence =
      mismatch.claim().sized ? findings::Confidence::kCertain : findings::Confidence::kLikely;
  finding.title = describe(facts, mismatch);
  finding.first_ns = std::numeric_limits<std::int64_t>::max();
  std::set<std::int32_t> ranks;
  for (const JoinedRank* member : mismatch.members) {
    ranks.insert(facts.job.processes[member->process].rank);
    std::int64_t at_ns = facts.job.begin_ns(member->event);
    finding.first_ns = std::min(finding.first_ns, at_ns);
    finding.last_ns = std::max(finding.last_ns, at_ns);
    if (finding.evidence.size() >= kMaxTold) continue;
    finding.evidence.push_back(evidence_of(
        facts.job, member->event,
        fmt::format("{} rank {} of {}; {} is {}",
                    mismatch.group.by_store ? "announces itself to the others as" : "joins as", member->rank,
                    mismatch.group.size, member->claim->variable, member->claim->rank)));
  }
  ranks.erase(-1);
  finding.ranks.assign(ranks.begin(), ranks.end());
  finding.advice =
      "Let one hand number the processes: where the launcher sets RANK, give no rank of your own to "
      "init_process_group (nor to ncclCommInitRank another), and choose the GPU by LOCAL_RANK or "
      "CUDA_VISIBLE_DEVICES, not by RANK.";
  // Who believes the variable does what another does, too, for as long as the job runs.
  finding.place = {finding.ranks, std::numeric_limits<std::int64_t>::min(),
                   std::numeric_limits<std::int64_t>::max()};
  if (!mismatch.collides()) finding.place = {finding.ranks, finding.first_ns, finding.last_ns};
  finding.key =
      fmt::format("{} {}", mismatch.claim().variable, facts.places.whole(mismatch.members.front()->event));
  outcome.findings.push_back(std::move(finding));
}

void leave_unjudged(findings::Outcome& outcome, std::string why) {
  outcome.coverage.push_back(
      {"whether the environment numbers ranks as they join each other", std::move(why), {"rank-mismatch"}});
}

void compare_with_environment(const Facts& facts, findings::Outcome& outcome) {
  if (facts.job.ranks().size() < 2) return;
  std::vector<WorldGroup> groups = patterns::find_world_groups(facts.job, facts.collectives);
  if (groups.empty())
    return leave_unjudged(outcome,
                          facts.collectives.communicators.empty()
                              ? "neither a communicator of NCCL nor a process group of PyTorch was recorded"
                              : "no communicator holds all ranks");
  const WorldGroup* worst = nullptr;
  Verdict verdict = Verdict::kUnknown;
  for (const WorldGroup& group : groups) {
    Verdict own = judge(group);
    if (own == Verdict::kAgrees) return;  // a group may have the same ranks in another order, on purpose
    if (own > verdict) verdict = own, worst = &group;
  }
  if (verdict == Verdict::kWrong) return tell(facts, Mismatch(*worst), outcome);
  if (verdict == Verdict::kReorders)
    leave_unjudged(outcome,
                   fmt::format("{} numbers them in another order than the group that they join: it does not "
                               "show whether that is meant",
                               Mismatch(*worst).claim().variable));
}

}  // namespace

void detect_rank_mismatch(const Facts& facts, findings::Outcome& outcome) {
  compare_with_environment(facts, outcome);
  tell_joined_twice(facts, outcome);
  tell_colliding_numbers(facts, outcome);
  tell_other_disks(facts, outcome);
}

}  // namespace ddpscope::detectors
