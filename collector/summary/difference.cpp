#include "collector/summary/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <tuple>

#include "collector/model/order_statistics.h"

namespace ddpscope::summary {
namespace {

constexpr std::size_t kMostDealt = 20;    // runs in all; of more, deals are drawn
constexpr std::uint64_t kDrawn = 10'000;  // the deal as it is among them

// What no version wrote counts as the gravest.
findings::Severity severity_of(const FoundRow& row) {
  return findings::severity_named(row.severity).value_or(findings::Severity::kError);
}

// Each finding once, of the run in which it is gravest, in the order in which they were met.
std::vector<FoundRow> gravest_of(const Runs& runs) {
  std::vector<FoundRow> rows;
  std::map<std::string, std::size_t> places;
  for (const Summary& run : runs)
    for (const FoundRow& row : run.findings) {
      auto [at, is_first] = places.try_emplace(row.id, rows.size());
      if (is_first)
        rows.push_back(row);
      else if (severity_of(row) > severity_of(rows[at->second]))
        rows[at->second] = row;
    }
  return rows;
}

void compare_findings(const Runs& base, const Runs& now, Difference& difference) {
  std::vector<FoundRow> before = gravest_of(base), after = gravest_of(now);
  for (const FoundRow& row : after) {
    auto known = std::ranges::find(before, row.id, &FoundRow::id);
    if (known == before.end())
      difference.found.push_back(row);
    else if (severity_of(row) > severity_of(*known))
      difference.worse.push_back({row, known->severity});
    else if (severity_of(row) < severity_of(*known))
      difference.better.push_back({row, known->severity});
  }
  for (const FoundRow& row : before)
    if (std::ranges::find(after, row.id, &FoundRow::id) == after.end()) difference.gone.push_back(row);
}

// By rank of which steps are known in some run, and by call.
using Issued = std::map<std::int32_t, std::map<std::string, std::uint64_t>>;

// What runs of one side agree about: the middle one of what each issues in a step.
Issued issued_by(const Runs& runs) {
  std::map<std::int32_t, std::size_t> known;
  std::map<std::pair<std::int32_t, std::string>, std::vector<std::uint64_t>> counts;
  for (const Summary& run : runs) {
    for (std::int32_t rank : run.ranks_with_steps) ++known[rank];
    for (const IssuedRow& row : run.issued)
      for (std::int32_t rank : row.ranks) counts[{rank, row.call}].push_back(row.per_step);
  }
  Issued issued;
  for (const auto& [rank, of_runs] : known) issued[rank];
  for (auto& [key, values] : counts) {
    values.resize(std::max(known[key.first], values.size()));
    if (std::uint64_t per_step = model::median(values)) issued[key.first][key.second] = per_step;
  }
  return issued;
}

std::map<std::string, std::uint64_t> bytes_of_calls(const Runs& base, const Runs& now) {
  std::map<std::string, std::uint64_t> bytes;
  for (const Runs* runs : {&base, &now})
    for (const Summary& run : *runs)
      for (const IssuedRow& row : run.issued) bytes[row.call] = row.bytes;
  return bytes;
}

// Adds up what differs, rank after rank.
class IssuedChanges {
 public:
  explicit IssuedChanges(std::map<std::string, std::uint64_t> bytes) : bytes_(std::move(bytes)) {}

  using OfRank = Issued::mapped_type;
  void add(std::int32_t rank, const OfRank& before, const OfRank& after) {
    std::uint64_t calls[2] = {0, 0}, bytes[2] = {0, 0};
    for (const auto& [call, bytes_of_one] : bytes_) {
      std::uint64_t per_step[2] = {of(before, call), of(after, call)};
      for (int side : {0, 1}) calls[side] += per_step[side], bytes[side] += per_step[side] * bytes_of_one;
      if (per_step[0] == per_step[1]) continue;
      auto [at, is_first] = changes_.try_emplace(
          {call, per_step[0], per_step[1]}, IssuedChange{call, per_step[0], per_step[1], bytes_of_one, {}});
      at->second.ranks.push_back(rank);
    }
    more_ = more_ || calls[1] > calls[0] || bytes[1] > bytes[0];
  }

  void add_to(Difference& difference) {
    for (auto& [key, change] : changes_) difference.issued.push_back(std::move(change));
    difference.more_issued = more_;
  }

 private:
  static std::uint64_t of(const OfRank& rank, const std::string& call) {
    auto found = rank.find(call);
    return found == rank.end() ? 0 : found->second;
  }

  std::map<std::string, std::uint64_t> bytes_;
  std::map<std::tuple<std::string, std::uint64_t, std::uint64_t>, IssuedChange> changes_;
  bool more_ = false;
};

// Of which steps are known on this side alone.
std::vector<std::int32_t> ranks_only_in(const Issued& here, const Issued& other) {
  std::vector<std::int32_t> ranks;
  for (const auto& [rank, calls] : here)
    if (!other.count(rank)) ranks.push_back(rank);
  return ranks;
}

template <class Is>
const char* which_is(const Runs& base, const Runs& now, Is&& is) {
  if (is(base)) return is(now) ? "BASE and NEW" : "BASE";
  return is(now) ? "NEW" : nullptr;
}

bool has_no_steps(const Runs& runs) {
  return std::all_of(runs.begin(), runs.end(), [](const Summary& run) { return run.steps == 0; });
}

bool issues_nothing(const Runs& runs) {
  return std::all_of(runs.begin(), runs.end(), [](const Summary& run) { return run.issued.empty(); });
}

void compare_issued(const Runs& base, const Runs& now, Difference& difference) {
  if (const char* which = which_is(base, now, has_no_steps)) {
    difference.not_compared.push_back(fmt::format(
        "what steps issue, and how long they and transfers last: no steps are known of {} (of a job "
        "on MPI, or on Gloo outside of PyTorch, without a GPU none are): findings alone are compared",
        which));
    difference.less_judged = !has_no_steps(base);
    return;
  }
  if (issues_nothing(base) && issues_nothing(now)) {
    difference.not_compared.push_back(
        "what steps issue: no collectives are known of BASE and NEW (of a job on Gloo outside of PyTorch "
        "none "
        "are)");
    return;
  }
  Issued before = issued_by(base), after = issued_by(now);
  IssuedChanges changes(bytes_of_calls(base, now));
  for (const auto& [rank, calls] : before)
    if (auto found = after.find(rank); found != after.end()) changes.add(rank, calls, found->second);
  changes.add_to(difference);
  auto tell = [&](const std::vector<std::int32_t>& ranks, const char* where) {
    if (!ranks.empty())
      difference.not_compared.push_back(fmt::format("what is issued by {}: their steps are known in {} only",
                                                    findings::list_ranks(ranks), where));
  };
  std::vector<std::int32_t> lost = ranks_only_in(before, after);
  difference.less_judged = !lost.empty();
  tell(lost, "BASE");
  tell(ranks_only_in(after, before), "NEW");
}

struct Samples {
  std::vector<double> p50, p95;
};

std::map<std::string, Samples> durations_of(const Runs& runs) {
  std::map<std::string, Samples> samples;
  for (const Summary& run : runs)
    for (const DurationRow& row : run.durations)
      samples[row.what].p50.push_back(row.p50_ms), samples[row.what].p95.push_back(row.p95_ms);
  return samples;
}

void compare_durations(const Runs& base, const Runs& now, Difference& difference) {
  auto before = durations_of(base), after = durations_of(now);
  bool too_few = false;
  for (auto& [what, old] : before) {
    auto found = after.find(what);
    if (found == after.end()) continue;
    Samples& fresh = found->second;
    DurationChange change{what, old.p50.size(), fresh.p50.size(), 0, 0, 0, 0, chance_of(old.p50, fresh.p50)};
    change.slower = is_slower(old.p50, fresh.p50);
    too_few = too_few || !change.chance;
    change.base_p50_ms = model::median(old.p50), change.now_p50_ms = model::median(fresh.p50);
    change.base_p95_ms = model::median(old.p95), change.now_p95_ms = model::median(fresh.p95);
    difference.durations.push_back(std::move(change));
  }
  if (too_few)
    difference.not_compared.push_back(
        "durations: with so few runs any order of them may be chance; 5 of each are enough");
}

// Silence is not health: what was judged before and is not any more.
void compare_judged(const Runs& base, const Runs& now, Difference& difference) {
  auto judged = [](const Runs& runs, const std::string& slug) {
    return std::any_of(runs.begin(), runs.end(), [&](const Summary& run) {
      return std::find(run.unjudged.begin(), run.unjudged.end(), slug) == run.unjudged.end();
    });
  };
  std::set<std::string> slugs;
  for (const Summary& run : now) slugs.insert(run.unjudged.begin(), run.unjudged.end());
  for (const std::string& slug : slugs)
    if (judged(base, slug) && !judged(now, slug)) {
      difference.not_compared.push_back(slug + ": it was judged in BASE, and in NEW it is not");
      difference.less_judged = true;
    }
}

double ways_to_deal(std::size_t one, std::size_t other) {
  double ways = 1;
  for (std::size_t i = 1; i <= other; ++i) ways *= static_cast<double>(one + i) / static_cast<double>(i);
  return ways;
}

// The part of all ways to deal so many of the values to the second side in which their sum is at least this.
double part_of_all_deals(const std::vector<double>& values, std::size_t dealt_to_it, double least) {
  std::uint64_t ways = 0, as_far = 0;
  for (std::uint32_t dealt = 0; dealt < std::uint32_t{1} << values.size(); ++dealt) {
    if (static_cast<std::size_t>(std::popcount(dealt)) != dealt_to_it) continue;
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (dealt >> i & 1) sum += values[i];
    ++ways;
    as_far += sum >= least;
  }
  return static_cast<double>(as_far) / static_cast<double>(ways);
}

// The same, of ways drawn at random. The deal as it is counts as one of them: so a chance below any level is
// as seldom, of runs that do not differ, as that level says, however few are drawn.
double part_of_drawn_deals(std::vector<double> values, std::size_t dealt_to_it, double least) {
  std::mt19937_64 random;  // always of the same seed: the same runs get the same answer
  std::uint64_t as_far = 1;
  for (std::uint64_t drawn = 1; drawn < kDrawn; ++drawn) {
    double sum = 0;
    for (std::size_t i = 0; i < dealt_to_it; ++i) {
      std::swap(values[i], values[i + random() % (values.size() - i)]);
      sum += values[i];
    }
    as_far += sum >= least;
  }
  return static_cast<double>(as_far) / static_cast<double>(kDrawn);
}

}  // namespace

bool Difference::regression() const {
  auto grave = [](const FoundRow& row) { return severity_of(row) > findings::Severity::kInfo; };
  auto slower = [](const DurationChange& change) { return change.slower; };
  return (unjudged_fails && less_judged) || more_issued || !worse.empty() ||
         std::any_of(found.begin(), found.end(), grave) ||
         std::any_of(durations.begin(), durations.end(), slower);
}

std::optional<double> chance_of(const std::vector<double>& base, const std::vector<double>& now) {
  if (base.empty() || now.empty() || 1 / ways_to_deal(base.size(), now.size()) >= kUnlikely)
    return std::nullopt;
  std::vector<double> values = base;
  values.insert(values.end(), now.begin(), now.end());
  // Of a fixed number of values, the mean of one side grows with its sum.
  double total = std::accumulate(values.begin(), values.end(), 0.0);
  double here = std::accumulate(now.begin(), now.end(), 0.0) - 1e-12 * std::abs(total);
  return values.size() <= kMostDealt ? part_of_all_deals(values, now.size(), here)
                                     : part_of_drawn_deals(values, now.size(), here);
}

bool is_slower(const std::vector<double>& base, const std::vector<double>& now) {
  auto chance = chance_of(base, now);
  if (!chance || *chance >= kUnlikely) return false;
  auto [lowest, highest] = std::minmax_element(base.begin(), base.end());
  double least = *std::min_element(now.begin(), now.end());
  return least >= *highest * kLeastGrowth && least - *highest >= kSpreads * (*highest - *lowest);
}

Difference compare(const Runs& base, const Runs& now, bool unjudged_fails) {
  Difference difference;
  difference.unjudged_fails = unjudged_fails;
  compare_findings(base, now, difference);
  compare_issued(base, now, difference);
  compare_durations(base, now, difference);
  compare_judged(base, now, difference);
  return difference;
}

}  // namespace ddpscope::summary
