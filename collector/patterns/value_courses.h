// What becomes of numbers that ranks read back alike.
#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "collector/patterns/read_values.h"

namespace ddpscope::patterns {

// Two numbers differ by more than that part of the larger one, or of what was read when they last agreed.
bool are_apart(double a, double b, double last = 0);

// How one slot goes on in two ranks. Counted are steps.
class ValueCourse {
 public:
  // shared: inputs that both were given; given: whether each of the two was seen to be given any.
  void see(std::uint32_t step, double a, double b, std::size_t shared, bool given);

  // As many steps that a number which nothing holds together does not agree by chance: with each the number
  // was another, by more than it differed between the ranks. A constant, a scale that doubles now and then,
  // or a loss that does not move yet tells nothing.
  bool agreed() const { return agreed_ >= kLeastAgreed; }
  bool never_agreed() const { return parted() && !agreed(); }
  // A counter of samples or tokens, a schedule: nothing that a training computes.
  bool counts() const { return even_ * 10 >= (agreed_ - 2) * 9; }
  // They agreed, and then stayed apart.
  bool drifted() const { return agreed() && !counts() && apart_ >= kLeastApart && apart_ * 10 >= after_ * 9; }
  // Whether what the ranks were given shows: they may have been given the same at first.
  bool inputs_show() const { return given_ * 2 >= reads_; }

  std::uint32_t steps_agreed() const { return agreed_; }
  std::uint32_t steps_apart() const { return apart_; }
  std::uint32_t last_agreed() const { return last_agreed_; }
  std::uint32_t first_apart() const { return first_apart_; }
  std::uint32_t last_apart() const { return last_apart_; }

 private:
  static constexpr std::uint32_t kLeastAgreed = 20, kLeastApart = 5;

  bool parted() const { return apart_ > 0; }
  void agree(std::uint32_t step, double value, std::size_t shared, bool given);

  double last_ = 0, step_ = 0;  // that both read, and how far it was from the one before
  std::uint32_t agreed_ = 0, reads_ = 0, given_ = 0;
  std::uint32_t even_ = 0;  // of those that agreed: as far from the one before as that from its own
  std::size_t least_shared_ = std::numeric_limits<std::size_t>::max();
  std::uint32_t after_ = 0, apart_ = 0;  // after they parted, and of these apart
  std::uint32_t last_agreed_ = 0, first_apart_ = 0, last_apart_ = 0;
};

// By slot. Compared is what both read in the same step.
std::map<std::uint64_t, ValueCourse> compare_values(const RankValues& a, const RankValues& b);

// A slot that all members of a communicator read alike, until some did not.
struct ValueDrift {
  std::uint64_t slot;
  ValueCourse course;  // of the two ranks that parted first
};

struct ValueComparison {
  std::optional<ValueDrift> drift;  // the first
  bool agreed = false;              // any slot of any two ranks
  bool doubtful = false;            // one drifted, but what the ranks were given does not show
};

// Of all members of whose calls none is missing.
ValueComparison compare_members(const model::Job& job, const matching::Collectives& collectives,
                                std::uint32_t communicator);

}  // namespace ddpscope::patterns
