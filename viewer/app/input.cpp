// Keys and mouse, the same whatever Dear ImGui's version.
#include "viewer/app/input.h"

#include <imgui.h>

#include <cmath>

namespace ddpscope::viewer {

constexpr float kShakePx = 4;

bool Mouse::drags(Button button) const {
  Point from = press_at[static_cast<int>(button)];
  return std::hypot(at.x - from.x, at.y - from.y) > kShakePx;
}

Mouse mouse_of(const ImGuiIO& io) {
  Mouse mouse;
  if (io.MousePos.x > -1e5f) mouse.at = {io.MousePos.x, io.MousePos.y};
  mouse.wheel = io.MouseWheel;
  mouse.shift = io.KeyShift, mouse.ctrl = io.KeyCtrl;
  for (int i = 0; i < 3; ++i) {
    mouse.down[i] = io.MouseDown[i];
    mouse.pressed[i] = io.MouseClicked[i];
    mouse.released[i] = io.MouseReleased[i];
    mouse.press_at[i] = {io.MouseClickedPos[i].x, io.MouseClickedPos[i].y};
  }
  mouse.double_click = io.MouseDoubleClicked[0];
  return mouse;
}

#if IMGUI_VERSION_NUM >= 18700
void move_mouse(ImGuiIO& io, Point at) { io.AddMousePosEvent(at.x, at.y); }
void hold_mouse(ImGuiIO& io, Button button, bool down) {
  io.AddMouseButtonEvent(static_cast<int>(button), down);
}
void turn_wheel(ImGuiIO& io, float notches) { io.AddMouseWheelEvent(0, notches); }
#else
void move_mouse(ImGuiIO& io, Point at) { io.MousePos = {at.x, at.y}; }
void hold_mouse(ImGuiIO& io, Button button, bool down) { io.MouseDown[static_cast<int>(button)] = down; }
void turn_wheel(ImGuiIO& io, float notches) { io.MouseWheel += notches; }
#endif

}  // namespace ddpscope::viewer
