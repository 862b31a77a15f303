// The six faces of the atlas at one scale.
#include "viewer/theme/fonts.h"

#include <imgui.h>
#include <imgui_freetype.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

namespace ddpscope::viewer {
namespace {

// ImGui asks for the height of a line, designers for that of the em: `line` is the first per the second.
struct Candidate {
  const char* path;
  float line;
};
struct Wanted {
  float em_px;
  std::array<Candidate, 4> files;  // the first that can be read
};

constexpr float kInterLine = 1.21f, kJetBrainsLine = 1.32f, kDejaVuLine = 1.164f;
constexpr Candidate kInter{"/usr/share/fonts/opentype/inter/Inter-Regular.otf", kInterLine};
constexpr Candidate kInterStrong{"/usr/share/fonts/opentype/inter/Inter-SemiBold.otf", kInterLine};
constexpr Candidate kDejaVu{"/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", kDejaVuLine};
constexpr Candidate kDejaVuStrong{"/usr/share/fonts/truetype/dejavu/DejaVuSans-Bold.ttf", kDejaVuLine};
constexpr Candidate kMono{"/usr/share/fonts/truetype/jetbrains-mono/JetBrainsMono-Regular.ttf",
                          kJetBrainsLine};
constexpr Candidate kDejaVuMono{"/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf", kDejaVuLine};
constexpr Candidate kNone{nullptr, 1};

constexpr std::array<Wanted, kFaces> kWanted = {{
    {13, {kInter, kDejaVu, kNone, kNone}},
    {13, {kInterStrong, kDejaVuStrong, kDejaVu, kNone}},
    {11, {kInter, kDejaVu, kNone, kNone}},
    {16, {kInterStrong, kDejaVuStrong, kDejaVu, kNone}},
    {12, {kMono, kDejaVuMono, kNone, kNone}},
    {11, {kMono, kDejaVuMono, kNone, kNone}},
}};

// Latin-1, and the few signs beyond it that the texts use.
constexpr ImWchar kGlyphs[] = {0x0020, 0x00FF, 0x2013, 0x2014, 0x2026, 0x2026, 0x2190, 0x2190,
                               0x2192, 0x2192, 0x2212, 0x2212, 0x2264, 0x2265, 0};

// Where it is installed, or where a package that carries its fonts has put them. Empty: at neither place.
std::string find_font(const std::filesystem::path& path) {
  std::error_code none;
  auto program = std::filesystem::read_symlink("/proc/self/exe", none);
  for (const auto& place : {path, program.parent_path() / "../share/ddpscope/fonts" / path.filename()})
    if (access(place.c_str(), R_OK) == 0) return place;
  return "";
}

ImFont* add_face(ImFontAtlas& atlas, const Wanted& wanted, float scale, float& line_px) {
  for (const Candidate& file : wanted.files) {
    std::string path = file.path ? find_font(file.path) : "";
    if (path.empty()) continue;
    ImFontConfig config;
    config.FontBuilderFlags = ImGuiFreeTypeBuilderFlags_LightHinting;
    line_px = std::round(wanted.em_px * file.line * scale);
    if (ImFont* font =
            atlas.AddFontFromFileTTF(path.c_str(), wanted.em_px * file.line * scale, &config, kGlyphs))
      return font;
  }
  ImFontConfig config;
  config.SizePixels = line_px = std::round(wanted.em_px * scale);
  return atlas.AddFontDefault(&config);
}

}  // namespace

Fonts build_fonts(ImFontAtlas& atlas, float scale) {
  atlas.Clear();
  atlas.FontBuilderIO = ImGuiFreeType::GetBuilderForFreeType();
  Fonts fonts;
  for (std::size_t i = 0; i < kFaces; ++i)
    fonts.faces[i] = add_face(atlas, kWanted[i], scale, fonts.sizes[i]);
  atlas.Build();
  for (std::size_t i = 0; i < kFaces; ++i) fonts.sizes[i] = fonts.faces[i]->FontSize;
  return fonts;
}

}  // namespace ddpscope::viewer
