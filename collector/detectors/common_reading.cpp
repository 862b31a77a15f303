// Each recorded reading of the first rank is put beside that of each other rank which is next to it in time.
#include "collector/detectors/common_reading.h"

#include <algorithm>
#include <tuple>

namespace ddpscope::detectors {
namespace {

// By sample, then by time.
std::vector<Reading> recorded_readings(const patterns::TrainingReads& reads) {
  struct Any {
    Reading reading;
    bool exact;
  };
  std::vector<Any> all;
  for (const files::ItemStream* stream : reads.streams())
    for (const files::Item& item : stream->items)
      all.push_back({{sample_of(item), 0, item.at_ns, {stream->process, item.place}}, item.exact != 0});
  std::ranges::stable_sort(all, {},
                           [](const Any& any) { return std::tuple(any.reading.sample, any.reading.at_ns); });
  std::vector<Reading> recorded;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0 && all[i].reading.sample == all[i - 1].reading.sample)
      all[i].reading.pass = all[i - 1].reading.pass + 1;
    if (all[i].exact) recorded.push_back(all[i].reading);
  }
  return recorded;
}

// Null: there is none of that sample.
const Reading* nearest(const std::vector<Reading>& readings, const Reading& to) {
  const Reading* best = nullptr;
  auto distance = [&](const Reading& one) { return std::abs(one.at_ns - to.at_ns); };
  auto [from, upto] =
      std::equal_range(readings.begin(), readings.end(), to,
                       [](const Reading& a, const Reading& b) { return a.sample < b.sample; });
  for (; from != upto; ++from)
    if (!best || distance(*from) < distance(*best)) best = &*from;
  return best;
}

// A reading of the first rank, and what is known of those that stand beside it.
struct Candidate {
  Reading first;
  bool passes_differ = false;
  std::int64_t from_ns, to_ns;

  // Ranks that shuffle each for itself read the last samples of a pass when others begin the next one: those
  // of one pass tell more, although they may be farther apart.
  auto rank() const { return std::tuple(passes_differ, to_ns - from_ns, from_ns); }
};

void widen(std::vector<Candidate>& candidates, const std::vector<Reading>& readings) {
  std::erase_if(candidates, [&](Candidate& candidate) {
    const Reading* other = nearest(readings, candidate.first);
    if (!other) return true;
    candidate.passes_differ |= other->pass != candidate.first.pass;
    candidate.from_ns = std::min(candidate.from_ns, other->at_ns);
    candidate.to_ns = std::max(candidate.to_ns, other->at_ns);
    return false;
  });
}

}  // namespace

std::vector<Reading> find_common_reading(
    std::size_t ranks, const std::function<patterns::TrainingReads(std::size_t)>& reads_of) {
  std::vector<Candidate> candidates;
  for (const Reading& first : recorded_readings(reads_of(0)))
    candidates.push_back({first, false, first.at_ns, first.at_ns});
  for (std::size_t rank = 1; rank < ranks; ++rank) widen(candidates, recorded_readings(reads_of(rank)));
  if (candidates.empty()) return {};
  const Reading& first = std::ranges::min_element(candidates, {}, &Candidate::rank)->first;
  std::vector<Reading> common{first};
  for (std::size_t rank = 1; rank < ranks; ++rank)
    common.push_back(*nearest(recorded_readings(reads_of(rank)), first));
  return common;
}

}  // namespace ddpscope::detectors
