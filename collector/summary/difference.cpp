#include "collector/summary/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "collector/model/order_statistics.h"

namespace ddpscope::summary {
namespace {

constexpr std::size_t kMostDealt = 20;    // runs in all; of more, deals are drawn
constexpr std::uint64_t kDrawn = 10'000;  // the deal as it is among them

findings::Severity severity_of(const FoundRow& row) {
  using findings::Severity;
  for (Severity severity : {Severity::kInfo, Severity::kWarning})
    if (row.severity == findings::name_of(severity)) return severity;
  return Severity::kError;
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

// What runs of one side agree about: the middle one of what each issues in a step.
std::map<std::string, IssuedRow> issued_by(const Runs& runs) {
  std::map<std::string, std::vector<std::uint64_t>> counts;
  std::map<std::string, IssuedRow> rows;
  std::size_t known = 0;
  for (const Summary& run : runs) {
    known += run.steps > 0;
    for (const IssuedRow& row : run.issued) counts[row.call].push_back(row.per_step), rows[row.call] = row;
  }
  for (auto& [call, values] : counts) {
    values.resize(known);
    rows[call].per_step = model::median(values);
  }
  std::erase_if(rows, [](const auto& row) { return row.second.per_step == 0; });
  return rows;
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
        "on Gloo or MPI without a GPU none are): findings alone are compared",
        which));
    return;
  }
  if (issues_nothing(base) && issues_nothing(now)) {
    difference.not_compared.push_back(
        "what steps issue: no collectives of NCCL are known of BASE and NEW (of a job on Gloo or MPI none "
        "are)");
    return;
  }
  auto before = issued_by(base), after = issued_by(now);
  std::uint64_t calls[2] = {0, 0}, bytes[2] = {0, 0};
  std::map<std::string, IssuedChange> changes;
  for (const auto& [call, row] : before) {
    calls[0] += row.per_step, bytes[0] += row.per_step * row.bytes;
    changes[call] = {call, row.per_step, 0, row.bytes};
  }
  for (const auto& [call, row] : after) {
    calls[1] += row.per_step, bytes[1] += row.per_step * row.bytes;
    IssuedChange& change = changes.try_emplace(call, IssuedChange{call, 0, 0, row.bytes}).first->second;
    change.now = row.per_step;
  }
  for (const auto& [call, change] : changes)
    if (change.base != change.now) difference.issued.push_back(change);
  difference.more_issued = calls[1] > calls[0] || bytes[1] > bytes[0];
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
    if (judged(base, slug) && !judged(now, slug))
      difference.not_compared.push_back(slug + ": it was judged in BASE, and in NEW it is not");
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
  return more_issued || !worse.empty() || std::any_of(found.begin(), found.end(), grave) ||
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

Difference compare(const Runs& base, const Runs& now) {
  Difference difference;
  compare_findings(base, now, difference);
  compare_issued(base, now, difference);
  compare_durations(base, now, difference);
  compare_judged(base, now, difference);
  return difference;
}

}  // namespace ddpscope::summary
