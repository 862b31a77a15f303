// GLFW's key numbers as the app's keys.
#include "viewer/window/glfw_keys.h"

#include <GLFW/glfw3.h>

namespace ddpscope::viewer {

std::optional<Key> key_of(int key, bool shift) {
  if ((key >= GLFW_KEY_A && key <= GLFW_KEY_Z) || (key >= GLFW_KEY_0 && key <= GLFW_KEY_9))
    return static_cast<Key>(key);
  switch (key) {
    case GLFW_KEY_ESCAPE:
      return Key::kEscape;
    case GLFW_KEY_ENTER:
      return Key::kEnter;
    case GLFW_KEY_TAB:
      return Key::kTab;
    case GLFW_KEY_LEFT:
      return Key::kLeft;
    case GLFW_KEY_RIGHT:
      return Key::kRight;
    case GLFW_KEY_UP:
      return Key::kUp;
    case GLFW_KEY_DOWN:
      return Key::kDown;
    case GLFW_KEY_HOME:
      return Key::kHome;
    case GLFW_KEY_END:
      return Key::kEnd;
    case GLFW_KEY_PAGE_UP:
      return Key::kPageUp;
    case GLFW_KEY_PAGE_DOWN:
      return Key::kPageDown;
    case GLFW_KEY_EQUAL:
    case GLFW_KEY_KP_ADD:
      return Key::kPlus;
    case GLFW_KEY_MINUS:
    case GLFW_KEY_KP_SUBTRACT:
      return Key::kMinus;
    case GLFW_KEY_SLASH:
      return shift ? std::optional(Key::kQuestion) : std::nullopt;
    case GLFW_KEY_COMMA:
      return Key::kComma;
    case GLFW_KEY_PERIOD:
      return Key::kPeriod;
    case GLFW_KEY_F1:
      return Key::kF1;
    default:
      return std::nullopt;
  }
}

}  // namespace ddpscope::viewer
