// Each rank beside the first: only two ranks' numbers are in memory at a time.
#include "collector/patterns/value_courses.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>

namespace ddpscope::patterns {
namespace {

constexpr double kEven = 1e-3;     // part of a step of a counter, for what single precision rounds off
constexpr double kSame = 1e-6;     // rounding, of sums that are added up in another order
constexpr double kChanged = 1e-5;  // well above it
constexpr double kApart = 1e-3;

// As a part of the largest; infinite if one is no number and the other is.
double gap(double a, double b, double last) {
  if (!std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<double>::infinity();
  double scale = std::max({std::abs(a), std::abs(b), std::abs(last)});
  return scale > 0 ? std::abs(a - b) / scale : 0;
}

std::size_t count_shared(const RankValues& a, const ReadValue& of_a, const RankValues& b,
                         const ReadValue& of_b) {
  auto sorted = [](std::span<const std::uint64_t> inputs) {
    std::vector<std::uint64_t> copy(inputs.begin(), inputs.end());
    std::ranges::sort(copy);
    return copy;
  };
  std::vector<std::uint64_t> shared;
  std::ranges::set_intersection(sorted(a.inputs_of(of_a)), sorted(b.inputs_of(of_b)),
                                std::back_inserter(shared));
  return shared.size();
}

// What the ranks beside the first made of a slot.
struct SlotFates {
  std::optional<ValueCourse> drifted;  // the first to part
  bool never_agreed = false;
};
using Fates = std::map<std::uint64_t, SlotFates>;

void add(const ValueCourse& course, std::uint64_t slot, Fates& fates, ValueComparison& result) {
  result.agreed |= course.agreed();
  if (!course.never_agreed() && !course.drifted()) return;
  SlotFates& fate = fates[slot];
  fate.never_agreed |= course.never_agreed();
  if (!course.drifted()) return;
  if (!course.inputs_show())
    result.doubtful = true;
  else if (!fate.drifted || course.first_apart() < fate.drifted->first_apart())
    fate.drifted = course;
}

}  // namespace

bool are_apart(double a, double b, double last) {
  return (std::isfinite(a) || std::isfinite(b)) && gap(a, b, last) > kApart;
}

void ValueCourse::agree(std::uint32_t step, double value, std::size_t shared, bool given) {
  ++reads_;
  given_ += given;
  least_shared_ = std::min(least_shared_, shared);
  if (reads_ > 1 && gap(value, last_, 0) <= kChanged) return;
  double by = value - last_;
  even_ += agreed_ > 1 && std::abs(by - step_) <= kEven * std::abs(step_);
  step_ = by;
  ++agreed_;
  last_ = value;
  last_agreed_ = step;
}

// What was computed from other inputs than before tells nothing of what it was computed with.
void ValueCourse::see(std::uint32_t step, double a, double b, std::size_t shared, bool given) {
  if (!std::isfinite(a) && !std::isfinite(b)) return;
  if (!parted() && gap(a, b, 0) <= kSame) return agree(step, a, shared, given);
  if (reads_ > 0 && shared < least_shared_) return;
  bool apart = are_apart(a, b, last_);
  if (!parted() && !apart) return;
  if (!parted()) first_apart_ = step;
  ++after_;
  if (!apart) return;
  ++apart_;
  last_apart_ = step;
}

std::map<std::uint64_t, ValueCourse> compare_values(const RankValues& a, const RankValues& b) {
  std::map<std::uint64_t, ValueCourse> courses;
  auto other = b.values.begin();
  for (const ReadValue& one : a.values) {
    auto key = std::tuple(one.step, one.slot);
    while (other != b.values.end() && std::tuple(other->step, other->slot) < key) ++other;
    if (other == b.values.end()) break;
    if (std::tuple(other->step, other->slot) != key) continue;
    bool given = one.end_input > one.first_input && other->end_input > other->first_input;
    courses[one.slot].see(one.step, one.value, other->value, count_shared(a, one, b, *other), given);
  }
  return courses;
}

ValueComparison compare_members(const model::Job& job, const matching::Collectives& collectives,
                                std::uint32_t communicator) {
  ValueComparison result;
  std::optional<RankValues> first;
  Fates fates;
  for (const matching::Member& member : collectives.communicators[communicator].members) {
    if (member.incomplete) continue;
    RankValues values = find_values(job, collectives, communicator, member);
    if (values.values.empty()) continue;
    if (!first) {
      first = std::move(values);
      continue;
    }
    for (const auto& [slot, course] : compare_values(*first, values)) add(course, slot, fates, result);
  }
  for (const auto& [slot, fate] : fates) {
    if (fate.never_agreed || !fate.drifted) continue;
    if (!result.drift || fate.drifted->first_apart() < result.drift->course.first_apart())
      result.drift = ValueDrift{slot, *fate.drifted};
  }
  return result;
}

}  // namespace ddpscope::patterns
