// What everything that draws is given: colours, faces, scale.
#pragma once
#include "viewer/theme/fonts.h"
#include "viewer/theme/palette.h"

namespace ddpscope::viewer {

struct Theme {
  ThemeName name = ThemeName::kDark;
  float scale = 1;
  Palette colours;
  Fonts fonts;

  float px(float at_scale_one) const { return at_scale_one * scale; }
};

}  // namespace ddpscope::viewer
