// How much later a turn is over because some members come late to its collectives.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace ddpscope::patterns {

// To one collective of a turn, of the late ones and of those they are compared with.
struct Coming {
  std::int64_t idle_ns;    // that the stream of those who are compared lay idle before they came
  std::int64_t behind_ns;  // by which the late ones came later; negative: sooner
  // The collective of the turn since which all work for this one alone: its number, from 1; 0: the turn's
  // begin.
  std::size_t level;
  // What comes before this collective may have waited for another one of the turn.
  bool may_follow;
  // When those who are compared were ready for it, before they came: kUnknown or how long.
  std::int64_t ready_ns;
};
constexpr std::int64_t kUnknown = -1;

struct LostTime {
  std::int64_t least_ns, most_ns;
};
inline LostTime lesser(const LostTime& a, const LostTime& b) {
  return {std::min(a.least_ns, b.least_ns), std::min(a.most_ns, b.most_ns)};
}

// Of times that are known.
inline std::vector<LostTime> exactly(const std::vector<std::int64_t>& late_ns) {
  std::vector<LostTime> late;
  for (std::int64_t ns : late_ns) late.push_back({ns, ns});
  return late;
}

// Collective by collective, in the order of the stream. All are over for all members at once, so each ends
// later, by what is lost so far, than it would if the late ones came with the others: those would find their
// stream free that much sooner, and be ready
// by what was lost until the one that they are level since: what each falls back from there adds up. Behind
// others their devices have gone on, and what is waited for again and again is lost once.
// Where the stream is busy until they come it does not show how much sooner they were ready. At most it is
// for all of the time; at least they have kept the lead that showed before: since then the late ones have
// worked no faster than they.
class LossOfTurn {
 public:
  // tolerance_ns: a stream that lies idle for less is busy.
  explicit LossOfTurn(std::int64_t tolerance_ns) : tolerance_ns_(tolerance_ns) {}
  void add(const Coming& coming);
  LostTime lost() const;

 private:
  std::int64_t tolerance_ns_;
  std::int64_t least_ns_ = 0, most_ns_ = 0;  // until the latest collective
  std::vector<LostTime> until_ = {{0, 0}};   // each collective, by its number; 0: the turn's begin
  std::size_t level_ = 0;
  std::int64_t lead_ns_ = 0;  // of those who are compared, at least, since then
  std::int64_t highest_ns_ = 0;
};

}  // namespace ddpscope::patterns
