// Ranks that had the same number, step by step, and have different ones now: the story of rank-divergence.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "collector/detectors/detector.h"

namespace ddpscope::detectors {

struct Reading {
  double value;
  double size;  // what its differences are measured by, where the value itself says nothing of that
  model::EventRef event;
};

// What one rank had when they agreed last, when they first did not, and when they last did not.
enum Moment : std::size_t { kAgreed, kApart, kLast, kMoments };
struct RankReadings {
  std::int32_t rank;
  std::array<std::optional<Reading>, kMoments> reads;
};

// What these numbers are.
struct PartedNumbers {
  std::vector<RankReadings> ranks;
  std::uint32_t steps_apart;
  findings::Confidence confidence;
  const char* key;
  const char* reads;  // "reads", in front of the number
  std::function<bool(const Reading&, const Reading&)> are_apart;
  // `alike`: the larger part of the ranks, empty if none is more than half. `place`: where the last was read.
  std::function<std::string(const std::vector<std::int32_t>& parted, const std::vector<std::int32_t>& alike,
                            const std::string& place)>
      title;
};

// By the numbers that they had last. Nothing of fewer than two ranks.
void tell_parted(const Facts& facts, PartedNumbers numbers, findings::Outcome& outcome);

}  // namespace ddpscope::detectors
