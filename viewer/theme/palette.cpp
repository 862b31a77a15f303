// The colours of the three themes, by meaning.
#include "viewer/theme/palette.h"

#include <algorithm>
#include <cmath>

namespace ddpscope::viewer {
namespace {

// Tol's light scheme: told apart with any colour vision.
constexpr std::array<Colour, 8> kChips = {rgb(0x77AADD), rgb(0xEE8866), rgb(0xEEDD88), rgb(0xFFAABB),
                                          rgb(0x99DDFF), rgb(0x44BB99), rgb(0xBBCC33), rgb(0xAAAA00)};
constexpr std::array<Colour, 7> kRamp = {rgb(0x151B25), rgb(0x22314A), rgb(0x35557F), rgb(0x4F86B5),
                                         rgb(0x9FB98C), rgb(0xF5C04A), rgb(0xFFF3C9)};
// On white the quiet end is the light one.
constexpr std::array<Colour, 7> kLightRamp = {rgb(0xFFFFFF), rgb(0xE3ECF6), rgb(0xB9D0E8), rgb(0x7FAAD3),
                                              rgb(0x5F96A9), rgb(0x9A5800), rgb(0x5E1F00)};

constexpr Palette kDark = {.window = rgb(0x0B0E13),
                           .pane = rgb(0x12161D),
                           .raised = rgb(0x181D26),
                           .selected = rgb(0x222935),
                           .lane_even = rgb(0x151A22),
                           .lane_odd = rgb(0x12161D),
                           .line = rgb(0x232A35),
                           .strong_line = rgb(0x3A4454),
                           .grid = rgb(0x1D232D),
                           .text = rgb(0xEDF1F6),
                           .text_mid = rgb(0xB1BCCA),
                           .text_low = rgb(0x8491A2),
                           .text_faint = rgb(0x5C6879),
                           .error = rgb(0xFF6455),
                           .error_ground = rgb(0x2E1A1C),
                           .warning = rgb(0xF5B83D),
                           .warning_ground = rgb(0x2B2416),
                           .info = rgb(0x86A4CC),
                           .info_ground = rgb(0x1A2230),
                           .forward = rgb(0x4B5C78),
                           .backward = rgb(0x61769A),
                           .optimizer = rgb(0x825A14),
                           .optimizer_text = rgb(0xEDF1F6),
                           .collective = rgb(0x2F8BD0),
                           .barrier = rgb(0xBFABFF),
                           .file_read = rgb(0x2DB48A),
                           .file_write = rgb(0xE58BBE),
                           .copy = rgb(0xD9CC74),
                           .wait_line = rgb(0x46536A),
                           .wait_ground = rgb(0x1A202A),
                           .bar_text = rgb(0xEDF1F6),
                           .bar_text_dark = rgb(0x14181F),
                           .link = rgb(0x8AB8FF),
                           .focus = rgb(0xFFFFFF),
                           .focus_text = rgb(0x131920),
                           .good = rgb(0x2DB48A),
                           .chips = kChips,
                           .chip_text = rgb(0x14181F),
                           .ramp = kRamp};

constexpr Palette kLight = {.window = rgb(0xE9ECF0),
                            .pane = rgb(0xF7F8FA),
                            .raised = rgb(0xFFFFFF),
                            .selected = rgb(0xE3EAF4),
                            .lane_even = rgb(0xFFFFFF),
                            .lane_odd = rgb(0xF7F8FA),
                            .line = rgb(0xDCE1E8),
                            .strong_line = rgb(0xB9C2CE),
                            .grid = rgb(0xE8ECF1),
                            .text = rgb(0x131920),
                            .text_mid = rgb(0x3F4B5A),
                            .text_low = rgb(0x5F6C7C),
                            .text_faint = rgb(0x8D98A6),
                            .error = rgb(0xB00020),
                            .error_ground = rgb(0xFCE9E7),
                            .warning = rgb(0x8F5D00),
                            .warning_ground = rgb(0xFAF0DA),
                            .info = rgb(0x3F6496),
                            .info_ground = rgb(0xE9EFF7),
                            .forward = rgb(0xB4C0D2),
                            .backward = rgb(0x93A4BD),
                            .optimizer = rgb(0x5A3C78),
                            .optimizer_text = rgb(0xFFFFFF),
                            .collective = rgb(0x2C84C6),
                            .barrier = rgb(0xBBA8F7),
                            .file_read = rgb(0x28A37C),
                            .file_write = rgb(0xCC5B95),
                            .copy = rgb(0xC9B23A),
                            .wait_line = rgb(0xB7C1CF),
                            .wait_ground = rgb(0xEEF1F5),
                            .bar_text = rgb(0x131920),
                            .bar_text_dark = rgb(0x131920),
                            .link = rgb(0x1F5FBF),
                            .focus = rgb(0x131920),
                            .focus_text = rgb(0xFFFFFF),
                            .good = rgb(0x1E8564),
                            .chips = kChips,
                            .chip_text = rgb(0x14181F),
                            .ramp = kLightRamp};

// Okabe and Ito's hues on the dark surfaces: vermilion, yellow and sky blue for severities, and no pair of
// bars that differs in red against green alone.
constexpr Palette colorblind() {
  Palette p = kDark;
  p.error = rgb(0xFF7F3F), p.error_ground = rgb(0x33200F);
  p.warning = rgb(0xF0E442), p.warning_ground = rgb(0x2B2A14);
  p.info = rgb(0x8FC9F2), p.info_ground = rgb(0x172633);
  p.optimizer = rgb(0x8C5A32);
  p.collective = rgb(0x2E86D1), p.barrier = rgb(0xC9B8FF);
  p.file_read = rgb(0x00B68A), p.file_write = rgb(0xF2A5CF);
  p.copy = rgb(0xE6C65C), p.good = rgb(0x3CC9A5);
  return p;
}
constexpr Palette kColorblind = colorblind();

std::uint32_t channel(Colour colour, int shift) { return colour >> shift & 0xFFu; }

}  // namespace

Colour mixed(Colour under, Colour over, float share) {
  Colour result = 0xFF000000u;
  for (int shift : {0, 8, 16}) {
    float value = channel(under, shift) * (1 - share) + channel(over, shift) * share;
    result |= static_cast<std::uint32_t>(std::lround(std::clamp(value, 0.0f, 255.0f))) << shift;
  }
  return result;
}

std::optional<ThemeName> theme_of(std::string_view name) {
  for (ThemeName theme : {ThemeName::kDark, ThemeName::kLight, ThemeName::kColorblind})
    if (name == name_of(theme)) return theme;
  return std::nullopt;
}

const char* name_of(ThemeName theme) {
  switch (theme) {
    case ThemeName::kLight:
      return "light";
    case ThemeName::kColorblind:
      return "colorblind";
    case ThemeName::kDark:
      break;
  }
  return "dark";
}

const Palette& palette_of(ThemeName theme) {
  switch (theme) {
    case ThemeName::kLight:
      return kLight;
    case ThemeName::kColorblind:
      return kColorblind;
    case ThemeName::kDark:
      break;
  }
  return kDark;
}

Colour ramp_colour(const Palette& palette, float part) {
  float at = std::clamp(part, 0.0f, 1.0f) * (palette.ramp.size() - 1);
  auto step = std::min(static_cast<std::size_t>(at), palette.ramp.size() - 2);
  return mixed(palette.ramp[step], palette.ramp[step + 1], at - step);
}

}  // namespace ddpscope::viewer
