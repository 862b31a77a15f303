// What a renderer can do beyond draw lists. Without one (tests) rectangles do.
#pragma once
#include <cstddef>

#include "viewer/theme/palette.h"

struct ImDrawList;

namespace ddpscope::viewer {

struct Box;

// Rows of pixels, from the top down, clear as glass at first.
class Pixels {
 public:
  Pixels(Colour* first, std::size_t stride) : first_(first), stride_(stride) {}
  Colour* row(std::size_t index) { return first_ + index * stride_; }

 private:
  Colour* first_;
  std::size_t stride_;
};

class Surface {
 public:
  virtual ~Surface() = default;

  virtual std::size_t room() const = 0;  // rows of pixels that can still be added in this frame
  // Room for pixels, which are drawn over `box` when the frame is: for what is too fine for rectangles.
  // However many there are, they are one rectangle.
  virtual Pixels add_pixels(ImDrawList& list, std::size_t width, std::size_t rows, const Box& box) = 0;

  // Everything in the box becomes this opaque colour. A renderer in software shades each pixel of a
  // rectangle, through blending and the atlas, and only stores these.
  virtual void clear(ImDrawList& list, const Box& box, Colour colour) = 0;
};

}  // namespace ddpscope::viewer
