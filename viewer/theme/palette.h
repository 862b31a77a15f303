// The colours of the three themes, by meaning. Healthy work is quiet; only what is wrong and what is selected
// is loud. No meaning is told by colour alone: severities have shapes, waits hatching, bars labels.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ddpscope::viewer {

using Colour = std::uint32_t;  // as ImGui packs it: 0xAABBGGRR

constexpr Colour rgb(std::uint32_t hex) {
  return 0xFF000000u | (hex & 0xFFu) << 16 | (hex & 0xFF00u) | (hex >> 16 & 0xFFu);
}
constexpr Colour with_alpha(Colour colour, float alpha) {
  return (colour & 0x00FFFFFFu) | static_cast<std::uint32_t>(alpha * 255.0f + 0.5f) << 24;
}
// `over` at `share` upon `under`, opaque.
Colour mixed(Colour under, Colour over, float share);

enum class ThemeName : std::uint8_t { kDark, kLight, kColorblind };
std::optional<ThemeName> theme_of(std::string_view name);  // dark, light, colorblind
const char* name_of(ThemeName theme);

struct Palette {
  // surfaces
  Colour window, pane, raised, selected;
  Colour lane_even, lane_odd, line, strong_line, grid;
  // text
  Colour text, text_mid, text_low, text_faint;
  // severities and what lies under their text
  Colour error, error_ground, warning, warning_ground, info, info_ground;
  // work
  Colour forward, backward, optimizer, optimizer_text;
  Colour collective, barrier, file_read, file_write, copy;
  Colour wait_line, wait_ground;
  Colour bar_text, bar_text_dark;  // on dark and on bright bars
  Colour link, focus, focus_text;
  Colour good;  // healthy, saved
  std::array<Colour, 8> chips;
  Colour chip_text;
  std::array<Colour, 7> ramp;  // lateness, lightness rises throughout
};
const Palette& palette_of(ThemeName theme);

// The colour at `part` (0..1) of the ramp.
Colour ramp_colour(const Palette& palette, float part);

}  // namespace ddpscope::viewer
