// Where the rows of the lanes stand.
#include "viewer/view/row_layout.h"

#include <algorithm>

namespace ddpscope::viewer {

RowLayout::RowLayout(const std::vector<float>& heights) {
  tops_.reserve(heights.size() + 1);
  tops_.push_back(0);
  for (float height : heights) tops_.push_back(tops_.back() + height);
}

RowLayout::Range RowLayout::in_view(float top, float bottom) const {
  if (size() == 0 || bottom <= top) return {};
  auto first = std::upper_bound(tops_.begin(), tops_.end(), top);
  auto last = std::lower_bound(tops_.begin(), tops_.end(), bottom);
  std::size_t from = first == tops_.begin() ? 0 : static_cast<std::size_t>(first - tops_.begin()) - 1;
  std::size_t to = std::min(static_cast<std::size_t>(last - tops_.begin()), size());
  return from < to ? Range{from, to} : Range{};
}

std::size_t RowLayout::at(float y) const {
  if (size() == 0 || y < 0 || y >= height()) return size();
  return static_cast<std::size_t>(std::upper_bound(tops_.begin(), tops_.end(), y) - tops_.begin()) - 1;
}

float scrolled_to(float scroll, float top, float bottom, float height, float content_height) {
  float most = std::max(0.0f, content_height - height);
  bool out_of_sight = bottom <= scroll || top >= scroll + height;
  float wanted = scroll;
  if (bottom - top > height)
    wanted = top;
  else if (out_of_sight)
    wanted = (top + bottom - height) / 2;
  else if (top < scroll)
    wanted = top;
  else if (bottom > scroll + height)
    wanted = bottom - height;
  return std::clamp(wanted, 0.0f, most);
}

}  // namespace ddpscope::viewer
