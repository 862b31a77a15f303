// Compares what one rank gives to the others with what all exchange between batches.
#include "collector/patterns/replicas.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>

namespace ddpscope::patterns {
namespace {

constexpr double kLeastRounds = 3;
constexpr double kTolerance = 0.15;   // scalars, buffers and unequal chunks besides the gradients
constexpr double kLeastModel = 1024;  // bytes: more than a message
constexpr double kMostUnseen = 1.35;  // exchanges to those that are told from each other

double surplus(const Traffic& traffic) {
  return static_cast<double>(traffic.bytes_sent) - static_cast<double>(traffic.bytes_received);
}

// Within a tolerance, zero or more times `unit`.
bool is_multiple(double bytes, double unit) {
  double times = std::round(bytes / unit);
  return times >= 0 && std::abs(bytes - times * unit) <= unit * kTolerance;
}

// An all-reduce takes from each rank as much as it gives. What is left over was handed out: one rank has
// given it, to each of the others or to some that passed it on. 0 if it is not so.
double bytes_of_model(const DataParallelGroup& group) {
  auto less = [](const auto& a, const auto& b) { return surplus(a.second) < surplus(b.second); };
  auto [taker, giver] = std::minmax_element(group.traffic.begin(), group.traffic.end(), less);
  double model = -surplus(taker->second);
  if (model < kLeastModel || !is_multiple(surplus(giver->second), model)) return 0;
  for (auto other = group.traffic.begin(); other != group.traffic.end(); ++other)
    if (other != giver && !is_multiple(surplus(other->second) + model, model)) return 0;
  return model;
}

std::int64_t begin_of(const DataParallelGroup& group) {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  for (const auto& [rank, traffic] : group.traffic)
    if (!traffic.sent.empty()) begin = std::min(begin, traffic.sent.front().at_ns);
  return begin;
}

bool fits(double bytes, const Exchanges& exchanges, double expected) {
  return bytes >= expected * exchanges.least * (1 - kTolerance) &&
         bytes <= expected * exchanges.least * kMostUnseen &&
         bytes <= expected * exchanges.most * (1 + kTolerance);
}

bool all_reduce(double expected, const std::vector<Exchanges>& all) {
  return std::all_of(all.begin(), all.end(), [&](const Exchanges& exchanges) {
    return exchanges.least >= kLeastRounds && fits(exchanges.sent, exchanges, expected) &&
           fits(exchanges.received, exchanges, expected);
  });
}

}  // namespace

Exchanges find_exchanges(const DataParallelGroup& group, std::int32_t rank,
                         const std::vector<std::int64_t>& taken_ns) {
  Exchanges sum;
  auto traffic = group.traffic.find(rank);
  if (traffic == group.traffic.end()) return sum;
  std::vector<std::int64_t> taken;
  std::unique_copy(taken_ns.begin(), taken_ns.end(), std::back_inserter(taken));
  auto after = [&](std::int64_t time) {
    return std::upper_bound(taken.begin(), taken.end(), time) - taken.begin();
  };
  auto first = after(begin_of(group));
  std::set<std::ptrdiff_t> rounds;
  auto add = [&](const std::vector<Transfer>& transfers, double& bytes) {
    for (const Transfer& transfer : transfers) {
      auto round = after(transfer.at_ns);
      if (round <= first) continue;
      rounds.insert(round);
      rounds.insert(after(transfer.until_ns));
      bytes += static_cast<double>(transfer.bytes);
    }
  };
  add(traffic->second.sent, sum.sent);
  add(traffic->second.received, sum.received);
  sum.least = static_cast<double>(rounds.size());
  sum.most = static_cast<double>(std::ssize(taken) - first);
  return sum;
}

double bytes_of_all_reduce(const DataParallelGroup& group) {
  auto ranks = static_cast<double>(group.traffic.size());
  return group.traffic.empty() ? 0 : bytes_of_model(group) * 2 * (ranks - 1) / ranks;
}

bool hold_replicas(const DataParallelGroup& group, const std::vector<Exchanges>& exchanges) {
  if (group.traffic.empty()) return true;
  double expected = bytes_of_all_reduce(group);
  return expected > 0 && all_reduce(expected, exchanges);
}

}  // namespace ddpscope::patterns
