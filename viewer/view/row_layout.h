// Where the rows of the lanes stand. Positions come from the rows alone, never from what is in view: nothing
// jumps as one scrolls or zooms.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ddpscope::viewer {

struct RowBox {
  float top = 0;  // px from the first row's top
  float height = 0;

  float bottom() const { return top + height; }
};

class RowLayout {
 public:
  RowLayout() = default;
  explicit RowLayout(const std::vector<float>& heights);

  std::size_t size() const { return tops_.empty() ? 0 : tops_.size() - 1; }
  float height() const { return tops_.empty() ? 0 : tops_.back(); }
  RowBox box(std::size_t row) const { return {tops_[row], tops_[row + 1] - tops_[row]}; }
  // The rows that meet [top, bottom): first and one after the last.
  struct Range {
    std::size_t first = 0, last = 0;
  };
  Range in_view(float top, float bottom) const;
  // The row at y; size() outside.
  std::size_t at(float y) const;

 private:
  std::vector<float> tops_;  // one more than rows
};

// How far to scroll so that [top, bottom) is in a window of `height`: as little as possible from `scroll`; in
// the middle where it was out of sight altogether; its top first where it is higher than the window.
float scrolled_to(float scroll, float top, float bottom, float height, float content_height);

}  // namespace ddpscope::viewer
