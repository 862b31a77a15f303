// GLFW's keys, and what they print, as the app's keys.
#include "viewer/window/glfw_keys.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

namespace ddpscope::viewer {

// Letters and signs are those that the layout prints, digits also where they take Shift (AZERTY, Czech).
// Where it prints other scripts' letters those of an American keyboard are in their places.
std::optional<Key> key_of(int key, const char* printed, bool shift, bool ctrl) {
  char sign = printed && printed[0] > 0 && !printed[1] ? printed[0] : '\0';
  bool letter_place = key >= GLFW_KEY_A && key <= GLFW_KEY_Z;
  bool digit_place = key >= GLFW_KEY_0 && key <= GLFW_KEY_9;
  if (sign >= 'a' && sign <= 'z') return static_cast<Key>(sign - 'a' + 'A');
  if (sign >= '0' && sign <= '9') return shift ? std::nullopt : std::optional(static_cast<Key>(sign));
  if (ctrl && (sign == '+' || sign == '=')) return Key::kPlus;
  if (ctrl && sign == '-') return Key::kMinus;
  if (digit_place || (letter_place && !sign)) return static_cast<Key>(key);
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
    case GLFW_KEY_KP_ADD:
      return Key::kPlus;
    case GLFW_KEY_KP_SUBTRACT:
      return Key::kMinus;
    case GLFW_KEY_F1:
      return Key::kF1;
    default:
      return std::nullopt;
  }
}

std::optional<Key> key_of_typed(unsigned character) {
  switch (character) {
    case '?':
      return Key::kQuestion;
    case ',':
      return Key::kComma;
    case '.':
      return Key::kPeriod;
    default:
      return std::nullopt;
  }
}

}  // namespace ddpscope::viewer
