// Columns side by side, each a stack of colours: how many are in what, over time.
#pragma once
#include <functional>
#include <vector>

#include "viewer/draw/canvas.h"

namespace ddpscope::viewer {

struct StackPart {
  float height;  // px
  Colour colour;
};

// Columns of `step` px from the box's left edge on; `stack_at(x, stack)` fills the one from x on, from the
// bottom up. On a surface all are one rectangle.
void draw_stacks(Canvas& canvas, const Box& box, float step,
                 const std::function<void(float x, std::vector<StackPart>& stack)>& stack_at);

}  // namespace ddpscope::viewer
