// Rows of pixels where there is a surface, else rectangles.
#include "viewer/draw/stacks.h"

#include <algorithm>
#include <cmath>

namespace ddpscope::viewer {
namespace {

using Stack = std::vector<StackPart>;

void draw_rectangles(Canvas& canvas, const Box& box, float step, const std::vector<Stack>& stacks) {
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    float x = box.left + static_cast<float>(i) * step, y = box.bottom;
    for (const StackPart& part : stacks[i]) {
      canvas.fill({x, std::max(y - part.height, box.top), x + step, y}, part.colour);
      y -= part.height;
    }
  }
}

// What of the stack lies `above` px over its foot.
Colour colour_at(const Stack& stack, float above) {
  for (const StackPart& part : stack) {
    if (above < part.height) return part.colour;
    above -= part.height;
  }
  return 0;
}

}  // namespace

void draw_stacks(Canvas& canvas, const Box& box, float step,
                 const std::function<void(float x, std::vector<StackPart>& stack)>& stack_at) {
  std::vector<Stack> stacks(static_cast<std::size_t>(std::max(std::ceil(box.width() / step), 0.0f)));
  for (std::size_t i = 0; i < stacks.size(); ++i)
    stack_at(box.left + static_cast<float>(i) * step, stacks[i]);
  if (!canvas.surface()) return draw_rectangles(canvas, box, step, stacks);
  float right = box.left + static_cast<float>(stacks.size()) * step, top = std::floor(box.top);
  auto rows = static_cast<std::size_t>(std::max(std::ceil(box.bottom) - top, 0.0f));
  Pixels pixels = canvas.surface()->add_pixels(canvas.list(), stacks.size(), rows,
                                               {box.left, top, right, top + static_cast<float>(rows)});
  for (std::size_t r = 0; r < rows; ++r) {
    float above = box.bottom - top - static_cast<float>(r) - 0.5f;
    for (std::size_t i = 0; i < stacks.size(); ++i) pixels.row(r)[i] = colour_at(stacks[i], above);
  }
}

}  // namespace ddpscope::viewer
