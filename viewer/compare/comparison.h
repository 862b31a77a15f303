// What differs between two traces of a job: findings, and how long steps, collectives and calls take. Nothing
// is drawn here.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "collector/merged/reader.h"
#include "collector/model/order_statistics.h"

namespace ddpscope::viewer {

// Of durations, in ns.
struct Spread {
  std::uint64_t looked_at = 0;
  std::uint64_t count = 0;  // all there are, as far as that is known of calls; else 0
  model::Percentiles<std::int64_t> ns;
};

struct DurationChange {
  enum class What : std::uint8_t { kStep, kWait, kTransfer, kCall } what;
  std::string name;  // "steps", "world: all-reduce of 4096 float32 (avg)", "read"
  Spread other, here;

  double factor() const;       // of the medians, here by there: 1 is no change
  double tail_factor() const;  // of the 99th percentiles

  // What is to be told of it. What became slower counts before what became faster, in the median or in the
  // tail: a job that hangs once is no faster because most of its calls are.
  enum class Of : std::uint8_t { kAlike, kMedian, kTail };
  struct Verdict {
    Of of = Of::kAlike;
    double factor = 1;
    bool slower() const { return factor > 1; }
  };
  Verdict verdict() const;
};

struct GoneFinding {
  findings::Severity severity;
  findings::Confidence confidence;
  std::string slug, title;
};

struct Comparison {
  std::string name;  // of the other trace
  merged::JobFacts other;
  std::vector<bool> is_new;       // by finding of this trace: the other has none of its id
  std::vector<GoneFinding> gone;  // in the other only, worst first
  // Of what both have: steps, collectives, calls; of each the largest change of all time first.
  std::vector<DurationChange> durations;

  std::size_t new_findings() const;
};

// `other` is what `here` is compared with: an earlier run, a good one. Findings are the same where their ids
// are (they do not depend on a run's processes, folders and times). Durations are those of up to 4,096 steps,
// 4,096 collectives a communicator, in runs spread over it, and 512 nodes a kind of track: the same of the
// same trace each time. Reads much of both files: not for the thread that draws.
Comparison compare(const merged::Reader& here, const merged::Reader& other, std::string name_of_other);

}  // namespace ddpscope::viewer
