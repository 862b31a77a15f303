// Keys and mouse, the same whatever Dear ImGui's version: 1.86 knows keys by the window system's numbers and
// loses those pressed and released between two frames; here they wait in a queue. Tests put them there by
// hand.
#pragma once
#include <cstdint>
#include <deque>

#include "viewer/view/curve.h"

struct ImGuiIO;

namespace ddpscope::viewer {

// Letters and digits have their character's code. Which key of the keyboard that is, the window knows.
enum class Key : std::uint16_t {
  k0 = '0',
  k1,
  k2,
  k3,
  k4,
  k5,
  k6,
  k7,
  k8,
  k9,
  kA = 'A',
  kB,
  kC,
  kD,
  kE,
  kF,
  kG,
  kH,
  kI,
  kJ,
  kK,
  kL,
  kM,
  kN,
  kO,
  kP,
  kQ,
  kR,
  kS,
  kT,
  kU,
  kV,
  kW,
  kX,
  kY,
  kZ,
  kEscape = 256,
  kEnter,
  kTab,
  kLeft,
  kRight,
  kUp,
  kDown,
  kHome,
  kEnd,
  kPageUp,
  kPageDown,
  kPlus,
  kMinus,
  kQuestion,
  kComma,
  kPeriod,
  kF1,
};

struct KeyPress {
  Key key;
  bool shift = false, ctrl = false;
};

class KeyQueue {
 public:
  void press(KeyPress press) { presses_.push_back(press); }
  bool empty() const { return presses_.empty(); }
  KeyPress take() {
    KeyPress first = presses_.front();
    presses_.pop_front();
    return first;
  }

 private:
  std::deque<KeyPress> presses_;
};

enum class Button : std::uint8_t { kLeft = 0, kRight = 1, kMiddle = 2 };

// What the mouse did since the last frame.
struct Mouse {
  Point at{-1e6f, -1e6f};
  float wheel = 0;
  bool shift = false, ctrl = false;
  bool down[3] = {}, pressed[3] = {}, released[3] = {};
  Point press_at[3] = {};
  bool double_click = false;

  bool holds(Button button) const { return down[static_cast<int>(button)]; }
  bool presses(Button button) const { return pressed[static_cast<int>(button)]; }
  bool releases(Button button) const { return released[static_cast<int>(button)]; }
  // Since the press it moved by more than a shaking hand does.
  bool drags(Button button) const;
  bool clicks(Button button) const { return releases(button) && !drags(button); }
};
Mouse mouse_of(const ImGuiIO& io);

// For tests and the programs around: what a window system would tell.
void move_mouse(ImGuiIO& io, Point at);
void hold_mouse(ImGuiIO& io, Button button, bool down);
void turn_wheel(ImGuiIO& io, float notches);

}  // namespace ddpscope::viewer
