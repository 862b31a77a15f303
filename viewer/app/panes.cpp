// Where the panes stand in a window.
#include "viewer/app/panes.h"

#include <algorithm>
#include <cmath>

namespace ddpscope::viewer {
namespace {

constexpr float kTop = 40, kMinimap = 52, kRuler = 24, kFlags = 26, kLegend = 24, kStatus = 24, kSplitter = 4;
constexpr float kGutter = 176, kRightMargin = 16;
constexpr float kLeastList = 260, kMostList = 520, kLeastDrawer = 120;
// In a low window lanes get more of the room.
constexpr float kLow = 800, kLowMinimap = 42;
constexpr float kDrawer = 272, kDrawerPart = 0.34f;  // at most that part
// At a large scale the drawer gives way, down to its head; the lanes are what the window is for.
constexpr float kLeastLanes = 170, kDrawerHead = 66, kHardlyLanes = 60;
constexpr float kRest = kTop + kMinimap + kRuler + kFlags + kLegend + kStatus + kSplitter;

}  // namespace

PaneSizes limited(PaneSizes sizes, float height, float scale) {
  sizes.list_width = std::clamp(sizes.list_width, kLeastList, kMostList);
  float most = std::max(kDrawerHead, std::min(height / scale / 2, height / scale - kRest - kLeastLanes));
  float wanted = sizes.drawer_height.value_or(std::min(kDrawer, kDrawerPart * height / scale));
  sizes.drawer_height = std::clamp(wanted, std::min(kLeastDrawer, most), most);
  return sizes;
}

Panes panes_of(float width, float height, float scale, const PaneSizes& wanted, const PaneNeeds& needs) {
  PaneSizes sizes = limited(wanted, height, scale);
  if (height / scale - kRest - *sizes.drawer_height < kHardlyLanes) sizes.drawer = false;
  auto px = [scale](float at_scale_one) { return std::round(at_scale_one * scale); };
  Panes panes;
  panes.top = {0, 0, width, px(kTop)};
  float bottom = std::max(height - px(kStatus), px(kTop));
  panes.status = {0, bottom, width, height};
  float list_right = std::min(px(sizes.list_width), width / 2);
  float most = std::max((bottom - px(kTop)) * 0.4f, bottom - px(kTop) - needs.list);
  float coverage_top = bottom - std::min(needs.coverage, most);
  panes.list = {0, px(kTop), list_right, coverage_top};
  panes.coverage = {0, coverage_top, list_right, bottom};
  panes.list_splitter = {list_right, px(kTop), list_right + px(kSplitter), bottom};
  float left = panes.list_splitter.right;
  panes.plot_left = std::min(left + px(kGutter), width);
  panes.plot_right = std::max(width - px(kRightMargin), panes.plot_left + 1);
  float y = px(kTop);
  auto next = [&](float pane_height) {
    Box box{left, y, width, y + px(pane_height)};
    y = box.bottom;
    return box;
  };
  panes.minimap = next(height < kLow * scale ? kLowMinimap : kMinimap), panes.ruler = next(kRuler),
  panes.flags = next(kFlags);
  float legend = std::max(px(kLegend), needs.legend);
  float drawer_top = sizes.drawer ? std::max(bottom - px(*sizes.drawer_height), y + legend) : bottom;
  panes.drawer = {left, drawer_top, width, bottom};
  panes.drawer_splitter = {left, drawer_top - (sizes.drawer ? px(kSplitter) : 0), width, drawer_top};
  // Where little is left for lanes, the legend has one line, and where that is too much, none.
  float room = panes.drawer_splitter.top - y;
  if (room - legend < px(kLeastLanes)) legend = px(kLegend);
  if (room - legend < px(kHardlyLanes)) legend = 0;
  panes.legend = {left, std::max(panes.drawer_splitter.top - legend, y), width, panes.drawer_splitter.top};
  panes.lanes = {left, y, width, panes.legend.top};
  return panes;
}

}  // namespace ddpscope::viewer
