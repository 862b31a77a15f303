// The six faces of the atlas at one scale. Inter and JetBrains Mono where they are installed, else DejaVu,
// else the font built into Dear ImGui.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

struct ImFont;
struct ImFontAtlas;

namespace ddpscope::viewer {

enum class Face : std::uint8_t {
  kBody,       // 13
  kStrong,     // 13 semibold: rank, lane
  kSmall,      // 11: label, axis, chip
  kTitle,      // 16 semibold: a finding's title
  kMono,       // 12: call, time, code
  kMonoSmall,  // 11: axis, process id
};
constexpr std::size_t kFaces = 6;

struct Fonts {
  std::array<ImFont*, kFaces> faces{};
  std::array<float, kFaces> sizes{};  // px, height of a line

  ImFont* operator[](Face face) const { return faces[static_cast<std::size_t>(face)]; }
  float size(Face face) const { return sizes[static_cast<std::size_t>(face)]; }
};

// Clears the atlas and fills it anew; the renderer's texture has to be made again.
Fonts build_fonts(ImFontAtlas& atlas, float scale);

}  // namespace ddpscope::viewer
