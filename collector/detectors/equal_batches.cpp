// Reads the batches of a group's ranks, one rank after the other, and compares each with one of each set.
#include "collector/detectors/equal_batches.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "collector/model/order_statistics.h"
#include "collector/patterns/pipelines.h"

namespace ddpscope::detectors {
namespace {

using matching::Member;
using patterns::Batch;
using patterns::RankBatches;
using trace::Operation;

constexpr std::size_t kRunning = 3;  // steps
constexpr std::size_t kNone = static_cast<std::size_t>(-1);
// What is gathered of a sequence is made of all of it: layers give an element of input more than itself. It
// takes this part of a batch's bytes in a step, at least.
constexpr std::uint64_t kGatheredPart = 2;

// Batches of one step on two ranks.
struct Agreement {
  std::size_t compared = 0, same = 0, longest = 0;
  std::size_t first = kNone;  // the first that is the same, in the batches of the first rank

  bool holds() const { return longest >= kRunning && same * 2 > compared; }
};

Agreement compare(const RankBatches& a, const RankBatches& b) {
  Agreement result;
  std::size_t run = 0;
  auto other = b.batches.begin();
  for (std::size_t i = 0; i < a.batches.size(); ++i) {
    const Batch& own = a.batches[i];
    while (other != b.batches.end() && other->step < own.step) ++other;
    if (other == b.batches.end()) break;
    if (other->step != own.step) continue;
    ++result.compared;
    run = own.content == other->content ? run + 1 : 0;
    if (run && result.first == kNone) result.first = i;
    result.same += run > 0;
    result.longest = std::max(result.longest, run);
  }
  return result;
}

// Communicators that carry more than metrics and gradients in each step.
class Partners {
 public:
  // `batch_bytes`: of a step's batch on a rank, at least.
  Partners(const Facts& facts, std::uint64_t batch_bytes) : pipelines_(facts.collectives) {
    std::size_t steps = 0;
    std::vector<bool> gradients(facts.collectives.communicators.size());
    for (const patterns::DataParallelGroup& group : facts.data_parallel) {
      if (group.communicator == matching::kNone) continue;
      gradients[group.communicator] = true;
      for (const auto& [rank, reductions] : group.of_rank)
        steps = steps ? std::min(steps, reductions.rounds) : reductions.rounds;
    }
    for (std::size_t c = 0; c < gradients.size(); ++c) {
      const auto& members = facts.collectives.communicators[c].members;
      if (members.empty()) continue;
      Exchanges made = exchanges_of(facts.collectives, members.front());
      if (gradients[c] ? made.beside_gradients(steps, batch_bytes) : made.all() >= steps)
        busy_.push_back(&members);
    }
  }

  bool work_together(std::int32_t a, std::int32_t b) const {
    auto holds = [](const std::vector<Member>& members, std::int32_t rank) {
      return std::ranges::any_of(members, [&](const Member& member) { return member.rank == rank; });
    };
    return pipelines_.joins(a, b) || std::ranges::any_of(busy_, [&](const auto* members) {
             return holds(*members, a) && holds(*members, b);
           });
  }

 private:
  // Calls that carry more than metrics.
  struct Exchanges {
    std::size_t reduced = 0, gathered = 0, scattered = 0, dealt_out = 0;
    std::uint64_t gathered_bytes = 0;  // of the member's own

    std::size_t all() const { return reduced + gathered + scattered + dealt_out; }
    // Sharded parameters are gathered, and their gradients scattered; whose gradients are all-reduced gathers
    // something else: parts of one sequence, or, much less, what synchronised batch normalisation knows of
    // its channels.
    bool beside_gradients(std::size_t steps, std::uint64_t batch_bytes) const {
      return dealt_out >= steps ||
             (gathered >= steps && reduced >= steps && gathered_bytes * kGatheredPart >= batch_bytes * steps);
    }
  };
  static Exchanges exchanges_of(const matching::Collectives& collectives, const Member& member) {
    Exchanges made;
    for (std::uint32_t number : member.calls) {
      const matching::Signature& call = collectives.calls.signature(number);
      if (call.count <= patterns::kFewElements) continue;
      made.reduced += call.operation == Operation::kAllReduce;
      if (call.operation == Operation::kAllGather) {
        ++made.gathered;
        made.gathered_bytes += matching::bytes_of(call);
      }
      made.scattered += call.operation == Operation::kReduceScatter;
      made.dealt_out += call.operation == Operation::kAllToAll;
    }
    return made;
  }

  patterns::Pipelines pipelines_;
  std::vector<const std::vector<Member>*> busy_;
};

std::vector<RankBatches> read_batches(const Facts& facts, const patterns::DataParallelGroup& group) {
  std::vector<RankBatches> ranks;
  if (group.communicator == matching::kNone) return ranks;
  for (const Member& member : facts.collectives.communicators[group.communicator].members)
    if (group.of_rank.contains(member.rank) && !member.incomplete)
      ranks.push_back(patterns::find_batches(facts.job, facts.collectives, member));
  return ranks;
}

// Of a batch of a rank, by the median; of the rank that is given least.
std::uint64_t bytes_of_batch(const std::vector<RankBatches>& ranks) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const RankBatches& rank : ranks) {
    std::vector<std::uint64_t> bytes;
    for (const Batch& batch : rank.batches) bytes.push_back(batch.bytes);
    least = std::min(least, model::median(bytes));
  }
  return least;
}

// Keeps those that were given enough, by rank.
void keep_judged(std::vector<RankBatches>& ranks) {
  std::erase_if(ranks, [](const RankBatches& rank) { return rank.batches.size() < kRunning; });
  std::ranges::sort(ranks, {}, &RankBatches::rank);
}

GivenBatch given(const RankBatches& rank, std::uint32_t step, std::size_t compared) {
  auto batch = std::ranges::lower_bound(rank.batches, step, {}, &Batch::step);
  return {rank.rank, {rank.process, batch->copy}, compared};
}

// What is compared with the others of its set is the first of its ranks.
struct GroupBatches {
  std::vector<std::int32_t> ranks;  // that were given anything
  bool compared = false;            // two of them, which do not work together
  std::vector<EqualBatches> sets;

  bool shares(std::int32_t rank) const {
    return std::ranges::any_of(sets, [&](const EqualBatches& set) {
      return std::ranges::any_of(set, [&](const GivenBatch& one) { return one.rank == rank; });
    });
  }
  bool tells_apart(std::int32_t rank) const {
    return ranks.size() > 1 && std::ranges::find(ranks, rank) != ranks.end() && !shares(rank);
  }
};

GroupBatches compare_group(const std::vector<RankBatches>& ranks, const Partners& partners) {
  GroupBatches group;
  std::vector<bool> assigned(ranks.size());
  for (std::size_t front = 0; front < ranks.size(); ++front) {
    group.ranks.push_back(ranks[front].rank);
    if (assigned[front]) continue;
    EqualBatches set;
    for (std::size_t other = front + 1; other < ranks.size(); ++other) {
      if (assigned[other] || partners.work_together(ranks[front].rank, ranks[other].rank)) continue;
      group.compared = true;
      Agreement agreement = compare(ranks[front], ranks[other]);
      if (!agreement.holds() || hold_their_own_data(ranks[front], ranks[other])) continue;
      assigned[other] = true;
      std::uint32_t step = ranks[front].batches[agreement.first].step;
      if (set.empty()) set.push_back(given(ranks[front], step, agreement.compared));
      set.push_back(given(ranks[other], step, agreement.compared));
    }
    if (!set.empty()) group.sets.push_back(std::move(set));
  }
  return group;
}

bool is_known(const std::vector<EqualBatches>& known, const EqualBatches& set) {
  return std::ranges::any_of(known, [&](const EqualBatches& other) {
    return std::ranges::includes(other, set, {}, &GivenBatch::rank, &GivenBatch::rank);
  });
}

}  // namespace

BatchComparison find_equal_batches(const Facts& facts) {
  BatchComparison found;
  std::vector<GroupBatches> groups;
  std::optional<Partners> partners;
  for (const patterns::DataParallelGroup& members : facts.data_parallel) {
    std::vector<RankBatches> ranks = read_batches(facts, members);
    auto in_doubt = [](const RankBatches& rank) { return rank.doubtful >= kRunning; };
    found.doubtful |= std::ranges::count_if(ranks, in_doubt) > 1;
    keep_judged(ranks);
    if (ranks.size() < 2) continue;
    if (!partners) partners.emplace(facts, bytes_of_batch(ranks));
    groups.push_back(compare_group(ranks, *partners));
    (groups.back().compared ? found.compared : found.together) = true;
  }
  for (const GroupBatches& group : groups)
    for (EqualBatches set : group.sets) {
      std::erase_if(set, [&](const GivenBatch& one) {
        return std::ranges::any_of(groups, [&](const auto& all) { return all.tells_apart(one.rank); });
      });
      if (set.size() > 1 && !is_known(found.sets, set)) found.sets.push_back(std::move(set));
    }
  return found;
}

}  // namespace ddpscope::detectors
