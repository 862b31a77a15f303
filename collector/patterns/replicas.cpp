// Compares what is sent at first with what is exchanged between batches.
#include "collector/patterns/replicas.h"

#include <algorithm>
#include <limits>
#include <set>

namespace ddpscope::patterns {
namespace {

constexpr double kLeastRounds = 3;
constexpr double kTolerance = 0.15;   // scalars, buffers and unequal chunks besides the gradients
constexpr double kMostUnseen = 1.35;  // exchanges to those that are told from each other

std::int64_t first_of(const std::vector<Transfer>& transfers) {
  return transfers.empty() ? std::numeric_limits<std::int64_t>::max() : transfers.front().at_ns;
}

double bytes_before(const std::vector<Transfer>& transfers, std::int64_t time) {
  double bytes = 0;
  for (const Transfer& transfer : transfers)
    if (transfer.at_ns < time) bytes += static_cast<double>(transfer.bytes);
  return bytes;
}

// What happened before the rank that began to receive last did so: what it had to give.
struct Beginning {
  std::int64_t until_ns = 0;
  double given = 0;  // by it
  double taken = 0;  // by that of the others which got least; one record may hold the next exchange too
};

Beginning find_beginning(const DataParallelGroup& group, const std::vector<TrainingReads>& reads) {
  auto later = [](const auto& a, const auto& b) {
    return first_of(a.second.received) < first_of(b.second.received);
  };
  auto giver = std::max_element(group.traffic.begin(), group.traffic.end(), later);
  Beginning beginning{first_of(giver->second.received), 0, std::numeric_limits<double>::max()};
  std::int64_t given_until = beginning.until_ns;  // its first batch parts that from the first exchange
  for (const TrainingReads& own : reads) {
    if (own.rank != giver->first) continue;
    auto taken = std::lower_bound(own.taken_ns.begin(), own.taken_ns.end(), beginning.until_ns);
    if (taken != own.taken_ns.begin()) given_until = *--taken;
  }
  beginning.given = bytes_before(giver->second.sent, given_until);
  for (auto other = group.traffic.begin(); other != group.traffic.end(); ++other)
    if (other != giver)
      beginning.taken = std::min(beginning.taken, bytes_before(other->second.received, beginning.until_ns));
  return beginning;
}

// Of one rank, from its second batch on. Calls that go on where the last one stopped are one record, and
// batches may be taken two at a time: there were at least as many exchanges as stretches between batches in
// which some begin or end, and at most as many as batches.
struct Exchanges {
  double sent = 0, received = 0;
  double least = 0, most = 0;  // how many
};

Exchanges find_exchanges(const Traffic& traffic, std::vector<std::int64_t> taken, std::int64_t from_ns) {
  taken.erase(std::unique(taken.begin(), taken.end()), taken.end());
  auto after = [&](std::int64_t time) {
    return std::upper_bound(taken.begin(), taken.end(), time) - taken.begin();
  };
  auto first = after(from_ns);
  std::set<std::ptrdiff_t> rounds;
  Exchanges sum;
  auto add = [&](const std::vector<Transfer>& transfers, double& bytes) {
    for (const Transfer& transfer : transfers) {
      auto round = after(transfer.at_ns);
      if (round <= first) continue;
      rounds.insert(round);
      rounds.insert(after(transfer.until_ns));
      bytes += static_cast<double>(transfer.bytes);
    }
  };
  add(traffic.sent, sum.sent);
  add(traffic.received, sum.received);
  sum.least = static_cast<double>(rounds.size());
  sum.most = static_cast<double>(std::ssize(taken) - first);
  return sum;
}

bool fits(double bytes, const Exchanges& exchanges, double expected) {
  return bytes >= expected * exchanges.least * (1 - kTolerance) &&
         bytes <= expected * exchanges.least * kMostUnseen &&
         bytes <= expected * exchanges.most * (1 + kTolerance);
}

bool all_reduce_models_of(double bytes, std::size_t ranks, const std::vector<Exchanges>& all) {
  double expected = bytes * 2 * static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  return std::all_of(all.begin(), all.end(), [&](const Exchanges& exchanges) {
    return exchanges.least >= kLeastRounds && fits(exchanges.sent, exchanges, expected) &&
           fits(exchanges.received, exchanges, expected);
  });
}

}  // namespace

bool hold_replicas(const DataParallelGroup& group, const std::vector<TrainingReads>& reads) {
  if (group.traffic.empty()) return true;
  Beginning beginning = find_beginning(group, reads);
  std::vector<Exchanges> exchanges;
  for (const TrainingReads& own : reads) {
    auto traffic = group.traffic.find(own.rank);
    if (traffic == group.traffic.end()) return false;
    exchanges.push_back(find_exchanges(traffic->second, own.taken_ns, beginning.until_ns));
  }
  // It may give the model to each of the others, or to some that pass it on.
  std::size_t ranks = group.traffic.size();
  for (std::size_t copies = 1; copies < ranks && beginning.given > 0; ++copies) {
    double model = beginning.given / static_cast<double>(copies);
    if (model <= beginning.taken * (1 + kTolerance) && all_reduce_models_of(model, ranks, exchanges))
      return true;
  }
  return false;
}

}  // namespace ddpscope::patterns
