// Where the panes stand in a window, and how far their splitters can be moved. Pure arithmetic; px.
#pragma once
#include <limits>
#include <optional>

#include "viewer/draw/canvas.h"

namespace ddpscope::viewer {

// What the user may change; px at scale 1.
struct PaneSizes {
  float list_width = 344;
  std::optional<float> drawer_height;  // none: as suits the window
  bool drawer = true;
};

struct Panes {
  Box top, list, coverage, minimap, ruler, flags, lanes, legend, drawer, status;
  Box list_splitter, drawer_splitter;
  float plot_left = 0, plot_right = 0;  // of the time axis in minimap, ruler, flags, lanes

  Box plot_of(const Box& pane) const { return {plot_left, pane.top, plot_right, pane.bottom}; }
};

// What is in the panes asks for px; of the coverage box no more than 40 % of the list's height, or what the
// list leaves of it.
struct PaneNeeds {
  float coverage = 0;
  float list = std::numeric_limits<float>::max();
  float legend = 0;
};
Panes panes_of(float width, float height, float scale, const PaneSizes& sizes, const PaneNeeds& needs);
// Both sizes given. No drawer where it would leave no lanes.
PaneSizes limited(PaneSizes sizes, float height, float scale);

}  // namespace ddpscope::viewer
