// What is drawn of a line of events when there are more of them than pixels: bars, and runs of those that are
// too narrow, each coloured by what took most of its time. Pure arithmetic.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "collector/merged/event.h"

namespace ddpscope::viewer {

using merged::Kind;

struct Bar {
  float left = 0, right = 0;  // px
  Kind kind = Kind::kOther;
  bool open = false;          // its last event never returned
  bool folded = false;        // a run
  std::uint8_t severity = 0;  // of the worst finding whose evidence is in it, 1 + findings::Severity
  float covered = 0;          // px of a run's width that events cover
  std::uint64_t count = 1;    // events
  std::uint64_t index = 0;    // of its first event in the track

  float width() const { return right - left; }
  float filled() const { return folded && width() > 0 ? std::min(covered / width(), 1.0f) : 1; }
};
static_assert(sizeof(Bar) == 32);  // a frame makes hundreds of thousands

// Narrower ones are folded together where they are less than a pixel apart.
constexpr float kLeastBarPx = 1.5f;
// A call that never returned is seen however far one zooms out.
constexpr float kLeastOpenPx = 3;

// Takes bars and runs by time and leaves those to draw.
class Folder {
 public:
  explicit Folder(std::vector<Bar>& bars) : bars_(bars), first_(bars.size()) {}
  void add(Bar bar);

 private:
  bool joins_last(const Bar& bar) const;

  std::vector<Bar>& bars_;
  std::size_t first_;  // those before are not ours
  float of_kind_ = 0;  // px that the kind of the last bar covers in it
};

// Whether a node of the pyramid is drawn as it is: what it stands for covers too little to be told apart.
constexpr float kNodePx = 2;
constexpr bool is_fine_enough(float width_px) { return width_px < kNodePx; }

}  // namespace ddpscope::viewer
