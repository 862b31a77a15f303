// Rank by rank: is what it took last followed by an exchange of gradients?
#include "collector/patterns/uneven_traffic.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "collector/model/order_statistics.h"
#include "collector/patterns/replicas.h"
#include "collector/patterns/shared_queues.h"
#include "collector/patterns/training_reads.h"

namespace ddpscope::patterns {
namespace {

constexpr double kMost = 0.75;  // of a step's gradients; without one rank less than half of it can go around

bool ended_well(const model::Job& job, std::int32_t rank) {
  std::int32_t process = job.process_of_rank(rank);
  if (process < 0) return false;
  const trace::FileHeader& header = job.processes[static_cast<std::size_t>(process)].header();
  return header.ended && header.exit_code == 0;
}

bool ended_of_traceback(const model::Job& job, std::uint32_t process, std::int64_t since_ns) {
  bool found = false;
  model::for_each(job.processes[process].file, {trace::Operation::kTraceback},
                  [&](model::EventPlace, const trace::Record& record) {
                    found = found || job.begin_ns(process, record) >= since_ns;
                  });
  return found;
}

// It gave its connections up by itself, having done all its steps, before anybody told it to end: who fails
// does so too, but says of what. A launcher that ends it on its way out, since its peers have noticed,
// changes nothing of that.
bool left(const model::Job& job, const Traffic& traffic, std::int64_t last_step_ns) {
  if (!traffic.given_up || traffic.given_up_ns < last_step_ns) return false;
  std::uint32_t process = traffic.given_up->process;
  return !job.processes[process].header().ended && traffic.given_up_ns < job.told_ns(process) &&
         !ended_of_traceback(job, process, last_step_ns);
}

// The batches that were at hand when the rank had taken the last one: as many steps follow. Where workers
// answer out of turn a loader keeps the later batch until it has the earlier one; nothing is exchanged
// between the two. 1 where it is not known.
std::size_t steps_at_hand(const Traffic& traffic, const std::vector<std::int64_t>& messages_ns) {
  std::vector<std::size_t> at_once;  // messages, between exchanges
  auto exchange = traffic.received.begin();
  for (std::int64_t message : messages_ns) {
    auto next = std::find_if(exchange, traffic.received.end(),
                             [&](const Transfer& transfer) { return transfer.at_ns > message; });
    if (at_once.empty() || next != exchange) at_once.push_back(0);
    ++at_once.back();
    exchange = next;
  }
  if (at_once.size() < 2) return 1;
  std::size_t last = at_once.back();
  at_once.pop_back();
  std::size_t usual = model::median(at_once);  // of a step
  return (last + usual - 1) / usual;
}

struct Rank {
  LastStretch stretch;
  bool complete = false;  // gradients were exchanged after what it took last
  bool sends = false;     // to its peers, after the last exchange, and what it took after that
  bool left = false;      // by itself, after the last exchange
};

// When the last transfer had ended between what was taken and what was taken next.
std::vector<std::int64_t> ends_of_steps(const Traffic& traffic, const std::vector<std::int64_t>& taken_ns,
                                        std::int64_t until_ns) {
  std::vector<std::int64_t> ends;
  auto next = taken_ns.begin();
  for (const Transfer& transfer : traffic.received) {
    auto later = std::upper_bound(next, taken_ns.end(), transfer.at_ns);
    if (transfer.until_ns > until_ns) break;
    if (later == next && !ends.empty())
      ends.back() = std::max(ends.back(), transfer.until_ns);
    else if (later != taken_ns.begin())
      ends.push_back(transfer.until_ns);
    next = later;
  }
  return ends;
}

std::optional<Rank> find_rank(const model::Job& job, const Traffic& traffic, std::int32_t rank,
                              const std::vector<std::int64_t>& taken_ns, double bytes_a_step) {
  std::int32_t process = job.process_of_rank(rank);
  if (process < 0) return std::nullopt;
  const std::int64_t end = job.processes[static_cast<std::size_t>(process)].last_ns;
  double since = 0;
  for (const Transfer& transfer : traffic.received)
    if (transfer.at_ns > taken_ns.back()) since += static_cast<double>(transfer.bytes);
  Rank found{{rank, 0, end, {}}};
  auto steps = static_cast<double>(steps_at_hand(traffic, find_taken_messages(job, rank)));
  found.complete = since >= (steps - 1 + kMost) * bytes_a_step;
  found.stretch.steps_ns = ends_of_steps(traffic, taken_ns, found.complete ? end : taken_ns.back());
  if (found.stretch.steps_ns.empty()) return std::nullopt;
  std::int64_t last = found.stretch.from_ns = found.stretch.steps_ns.back();
  if (!found.complete) last = taken_ns.back();
  if (found.complete && !traffic.sent.empty()) last = std::max(last, traffic.sent.back().until_ns);
  found.sends = traffic.last_sent_ns > last;
  found.left = ended_well(job, rank) || left(job, traffic, last);
  return found;
}

// What a rank exchanged before it took data for the last time: what comes after that may be half a step.
Traffic cut(const Traffic& traffic, std::int64_t until_ns) {
  Traffic kept = traffic;
  auto drop = [&](std::vector<Transfer>& transfers, std::uint64_t& bytes) {
    std::erase_if(transfers, [&](const Transfer& transfer) {
      if (transfer.at_ns <= until_ns) return false;
      bytes -= std::min(bytes, transfer.bytes);
      return true;
    });
  };
  drop(kept.sent, kept.bytes_sent);
  drop(kept.received, kept.bytes_received);
  return kept;
}

using Times = std::map<std::int32_t, std::vector<std::int64_t>>;  // by rank

// Bytes that each rank receives in a step; 0 if they are not seen to hold copies of one model.
double find_bytes_a_step(const DataParallelGroup& group, const Times& taken_ns) {
  DataParallelGroup before;
  for (const auto& [rank, traffic] : group.traffic)
    before.traffic[rank] = cut(traffic, taken_ns.at(rank).back());
  std::vector<Exchanges> exchanges;
  for (const auto& [rank, times] : taken_ns) exchanges.push_back(find_exchanges(before, rank, times));
  return hold_replicas(before, exchanges) ? bytes_of_all_reduce(before) : 0;
}

enum class Verdict { kNothing, kUnknown, kUneven };

Verdict judge(const model::Job& job, const DataParallelGroup& group, UnevenTraffic& found) {
  Times taken_ns;
  for (const auto& [rank, traffic] : group.traffic)
    if (taken_ns[rank] = find_rank_reads(job, rank).all_taken_ns(); taken_ns[rank].empty())
      return Verdict::kUnknown;
  double bytes_a_step = find_bytes_a_step(group, taken_ns);
  if (bytes_a_step <= 0) return Verdict::kUnknown;
  bool otherwise = false;
  for (const auto& [number, traffic] : group.traffic) {
    auto rank = find_rank(job, traffic, number, taken_ns.at(number), bytes_a_step);
    if (!rank) return Verdict::kUnknown;
    otherwise =
        otherwise || (rank->complete ? !rank->left && !rank->sends : ended_well(job, number) || !rank->sends);
    (rank->complete ? found.done : found.going_on).push_back(std::move(rank->stretch));
  }
  if (otherwise || found.done.empty() || found.going_on.empty()) return Verdict::kNothing;
  Data data = find_data_left(job, found.done, found.going_on);
  if (data == Data::kUnknown) return Verdict::kUnknown;
  return data == Data::kUsedUp ? Verdict::kUneven : Verdict::kNothing;
}

}  // namespace

UnevenTraffics find_uneven_traffic(const model::Job& job, const std::vector<DataParallelGroup>& groups) {
  UnevenTraffics result;
  for (const DataParallelGroup& group : groups) {
    bool well = std::all_of(group.traffic.begin(), group.traffic.end(),
                            [&](const auto& own) { return ended_well(job, own.first); });
    if (group.traffic.empty() || well) continue;
    UnevenTraffic found;
    Verdict verdict = judge(job, group, found);
    if (verdict == Verdict::kUneven) result.found.push_back(std::move(found));
    result.judged = result.judged && verdict != Verdict::kUnknown;
  }
  return result;
}

}  // namespace ddpscope::patterns
