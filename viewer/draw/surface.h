// What a renderer can do beyond draw lists. Without one (tests) rectangles do.
#pragma once
#include <cstddef>

#include "viewer/theme/palette.h"

struct ImDrawList;

namespace ddpscope::viewer {

struct Box;

class Surface {
 public:
  virtual ~Surface() = default;

  // Room for a row of pixels, which are drawn over `box` when the frame is: for what is too fine for
  // rectangles.
  virtual Colour* add_row(ImDrawList& list, std::size_t width, const Box& box) = 0;

  // Everything in the box becomes this opaque colour. A renderer in software shades each pixel of a
  // rectangle, through blending and the atlas, and only stores these.
  virtual void clear(ImDrawList& list, const Box& box, Colour colour) = 0;
};

}  // namespace ddpscope::viewer
