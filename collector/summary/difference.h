// What differs between two sets of runs of a job, and which of it is a regression.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "collector/summary/summary.h"

namespace ddpscope::summary {

using Runs = std::vector<Summary>;  // of one version of the job, at least one

struct SeverityChange {
  FoundRow row;  // as in NEW
  std::string base_severity;
};

struct IssuedChange {
  std::string call;
  std::uint64_t base, now;  // per step; 0: none
  std::uint64_t bytes;      // of one
  std::vector<std::int32_t> ranks;
};

// Medians over the runs of what each run's half, or 95 in a hundred, stays below.
struct DurationChange {
  std::string what;
  std::size_t base_runs, now_runs;
  double base_p50_ms, now_p50_ms, base_p95_ms, now_p95_ms;
  // Of a permutation test on the runs' medians: how likely NEW would lie so far above BASE by chance. Nothing
  // if there are too few runs for any order of them to be unlikely.
  std::optional<double> chance;
  bool slower = false;  // a regression: see is_slower()
};

struct Difference {
  std::vector<FoundRow> found, gone;  // in some run of one side, in none of the other
  // In both, by the gravest run of each.
  std::vector<SeverityChange> worse, better;
  std::vector<IssuedChange> issued;
  bool more_issued = false;  // more calls, or more bytes, a step of some rank
  std::vector<DurationChange> durations;
  std::vector<std::string> not_compared;  // what, and why
  bool less_judged = false;               // of this, something that is known of BASE
  bool unjudged_fails = false;            // then that is a regression

  // A new error or warning, a worse one, more issued, something slower; less judged, where that is one.
  bool regression() const;
};

// Unlikely is less than one in a hundred.
constexpr double kUnlikely = 0.01;
// A run of another kind of noise than the others' (a busy machine) must not count: all runs of NEW lie above
// all of BASE, by a tenth and by twice what the runs of BASE lie apart from each other. Of 5 and 5 runs that
// differ by chance alone that is so in less than one of 10,000.
constexpr double kLeastGrowth = 1.1, kSpreads = 2;

Difference compare(const Runs& base, const Runs& now, bool unjudged_fails = false);

// One-sided: of all ways to deal the runs to two sides, the part in which the second's mean is as far above
// the first's as it is here, or farther. Exact for up to 20 runs in all; of more, 10,000 ways are drawn, the
// same each time, which tells a chance of 0.01 to within 0.001 (the standard error). Nothing if even the
// farthest is not unlikely: of 5 and 5 it is one of 252, of 4 and 4 one of 70, of 1 and 30 one of 31.
std::optional<double> chance_of(const std::vector<double>& base, const std::vector<double>& now);
bool is_slower(const std::vector<double>& base, const std::vector<double>& now);

std::string to_text(const Difference& difference);
std::string to_json(const Difference& difference);

}  // namespace ddpscope::summary
