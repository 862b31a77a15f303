// Texts that are cut or broken, colours that are mixed: with an atlas, without OpenGL.
#include "viewer/draw/canvas.h"

#include <gtest/gtest.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "viewer/draw/gui_context.h"
#include "viewer/draw/marks.h"
#include "viewer/lanes/row_list.h"
#include "viewer/panels/panel_frame.h"

namespace ddpscope::viewer {
namespace {

class CanvasTest : public testing::Test {
 protected:
  CanvasTest() {
    theme_.colours = palette_of(ThemeName::kDark);
    theme_.fonts = build_fonts(*ImGui::GetIO().Fonts, 1);
    ImGui::GetIO().DisplaySize = {800, 600};
    ImGui::NewFrame();
    canvas_.emplace(*ImGui::GetForegroundDrawList(), theme_);
  }
  ~CanvasTest() override { ImGui::EndFrame(); }

  GuiContext context_;
  Theme theme_;
  std::optional<Canvas> canvas_;
};

// In windows of 1024 x 768 and 800 x 600.
TEST_F(CanvasTest, ANoteCoversNoDiscHoweverNarrowTheLanes) {
  Colour red = theme_.colours.error;
  std::vector<std::string> lines{"rank 1 goes on without the barrier",
                                 "its #0 is: broadcast of 51584 float32 (root 0)"};
  auto expect_clear = [&](const Box& within, const std::vector<Point>& discs) {
    auto box = note_box(*canvas_, {discs.front(), red, true, lines}, within, discs);
    ASSERT_TRUE(box);
    EXPECT_GE(box->left, within.left);
    EXPECT_LE(box->right, within.right);
    Box around = box->inset(-disc_radius(*canvas_));
    for (Point disc : discs) EXPECT_FALSE(around.contains(disc)) << disc.x << " " << disc.y;
  };
  expect_clear({530, 138, 1002, 413}, {{645, 207}, {806, 244}, {673, 281}, {689, 318}});
  expect_clear({530, 138, 778, 338}, {{589, 207}, {675, 245}, {604, 275}, {613, 305}});
  EXPECT_FALSE(note_box(*canvas_, {{40, 40}, red, true, lines}, {10, 10, 110, 200}, {{40, 40}})) << "no room";
}

TEST_F(CanvasTest, ATextThatFitsIsWhole) {
  EXPECT_EQ(cut_to(*canvas_, Face::kBody, "barrier", 200), "barrier");
}

// In a card of the least width, as beside four cards in a window of 1600 x 900.
TEST_F(CanvasTest, WhatCouldOrderTwoAccessesIsToldInWhole) {
  constexpr float kWidth = 210, kHeight = 156;
  std::vector<findings::LookedFor> edges;
  for (const char* edge : {"collective that the second rank's host waits for", "making of a communicator",
                           "message over a socket or pipe", "hand-over between threads",
                           "file that signals (polled, renamed, locked)", "start or end of a process"})
    edges.push_back({edge, "none between"});
  std::string last = "the last, at 4.152107 s, comes after only what the first rank did until 3.901330 s";
  edges[0].found = last;
  auto joined = [](const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += (text.empty() ? "" : " ") + line;
    return text;
  };
  EdgeList list = fit_edges(*canvas_, edges, kWidth, kHeight);
  EXPECT_EQ(list.common, "none between");
  ASSERT_EQ(list.entries.size(), edges.size());
  std::size_t lines = 0;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    EXPECT_EQ(joined(list.entries[i].edge), edges[i].edge);
    EXPECT_EQ(joined(list.entries[i].found), i == 0 ? last : "");
    lines += list.entries[i].edge.size() + list.entries[i].found.size();
  }
  EXPECT_LE(static_cast<float>(lines) * 14 + list.gap * 6, kHeight);
  // With less room what was found is still told in whole; with more, entries are further apart.
  EXPECT_EQ(joined(fit_edges(*canvas_, edges, kWidth, 100).entries[0].found), last);
  EXPECT_GT(fit_edges(*canvas_, edges, 400, 400).gap, list.gap);
  // No two came to the same: each has its own.
  edges = {{"a", "found"}, {"b", "none"}};
  EXPECT_EQ(fit_edges(*canvas_, edges, kWidth, kHeight).common, "");
  EXPECT_EQ(fit_edges(*canvas_, edges, kWidth, kHeight).entries[1].found, std::vector<std::string>{"none"});
}

TEST_F(CanvasTest, LabelsOfStreamsFitBesideTheirLines) {
  constexpr float kRoom = 66;  // at scale 1: of panes.cpp's gutter what rank_lane.cpp leaves to them
  EXPECT_GT(canvas_->text_width(Face::kSmall, "cuda:0 stream 0x55607e85b820"), kRoom);
  EXPECT_EQ(short_stream_label("cuda:0 stream 7", false), "stream 7");
  EXPECT_EQ(short_stream_label("cuda:0 stream 0x55607e85b820", false), "…85b820");
  EXPECT_EQ(short_stream_label("cuda:1 stream 7", true), "1: 7");
  EXPECT_EQ(short_stream_label("cuda:1 stream 0x55607e85b820", true), "1: …5b820");
  EXPECT_EQ(short_stream_label("somewhere", false), "somewhere");
  for (const char* label :
       {"cuda:15 stream 9999", "cuda:15 stream 99999", "cuda:15 stream 0x55607e8ddddd", "cuda:0 stream 0x0"})
    for (bool with_device : {false, true}) {
      std::string shown = short_stream_label(label, with_device);
      EXPECT_LE(canvas_->text_width(Face::kSmall, shown), kRoom) << shown;
      EXPECT_EQ(cut_to(*canvas_, Face::kSmall, shown, kRoom), shown);
    }
}

TEST_F(CanvasTest, ACutTextFitsAndEndsInAnEllipsis) {
  for (float width : {30.0f, 60.0f, 90.0f}) {
    std::string cut = cut_to(*canvas_, Face::kBody, "größenordnungsmäßig überlang", width);
    EXPECT_LE(canvas_->text_width(Face::kBody, cut), width);
    EXPECT_TRUE(cut.ends_with("…")) << cut;
  }
}

TEST_F(CanvasTest, NothingIsBetterThanOneLetter) {
  EXPECT_EQ(cut_to(*canvas_, Face::kBody, "barrier", 5), "");
  EXPECT_EQ(cut_to(*canvas_, Face::kBody, "", 5), "");
}

TEST_F(CanvasTest, ACollectivesNumberIsWholeOrNotThere) {
  float number = canvas_->text_width(Face::kSmall, "#38"),
        all = canvas_->text_width(Face::kSmall, "#38 AllReduce");
  for (float width = 0; width < all; width += 1) {
    std::string cut = cut_to(*canvas_, Face::kSmall, "#38 AllReduce", width);
    EXPECT_TRUE(cut.empty() || cut == "#38" || cut.starts_with("#38 A")) << cut;
    EXPECT_LE(canvas_->text_width(Face::kSmall, cut), width);
    EXPECT_EQ(cut.empty(), width < number) << width;
  }
}

TEST_F(CanvasTest, ALineBreakInANameIsSpelledOut) {
  EXPECT_EQ(printable("a\nb"), "a\\nb");
  EXPECT_EQ(printable("step – 1 … größer"), "step – 1 … größer");
  EXPECT_EQ(printable("C:\\data – x"), "C:\\data – x");
  EXPECT_EQ(printable(printable("a\n\xC3")), printable("a\n\xC3"));
  std::string cut_off = printable(std::string_view("gr\xC3\xB6\xC3", 5));
  EXPECT_EQ(cut_off, "grö\\xc3");
  for (const std::string& line : wrapped(*canvas_, Face::kBody, "rank 0 writes /data/a\nb.bin\t", 90, 5))
    EXPECT_EQ(line.find_first_of("\n\t"), std::string::npos) << line;
  EXPECT_EQ(cut_to(*canvas_, Face::kBody, "a\nb", 200), "a\\nb");
  // What is drawn has one line: no glyph below another.
  ImDrawList& list = canvas_->list();
  int before = list.VtxBuffer.Size;
  canvas_->text(Face::kBody, {10, 10}, 0xFFFFFFFF, "a\nb");
  for (int i = before; i < list.VtxBuffer.Size; ++i)
    EXPECT_LT(list.VtxBuffer[i].pos.y, 10 + 1.5f * canvas_->line_height(Face::kBody));
  EXPECT_GT(list.VtxBuffer.Size, before);
}

TEST_F(CanvasTest, LinesFitAndLoseNoWord) {
  std::string text =
      "rank 1 does not run the barrier that ranks 0, 2 and 3 run at /a/very/long/path/without/a/blank.py:99";
  auto lines = wrapped(*canvas_, Face::kBody, text, 140, 20);
  std::string joined;
  for (const std::string& line : lines) {
    EXPECT_LE(canvas_->text_width(Face::kBody, line), 140) << line;
    joined += line;
  }
  auto squeezed = [](std::string s) {
    std::erase(s, ' ');
    return s;
  };
  EXPECT_EQ(squeezed(joined), squeezed(text));
}

TEST_F(CanvasTest, NamesAreBrokenLast) {
  float width = canvas_->text_width(Face::kMono, "\"step_000008.bin\")") + 2;
  EXPECT_EQ(wrapped(*canvas_, Face::kMono, "open(\"step_000008.bin\")", width, 2),
            (std::vector<std::string>{"open(", "\"step_000008.bin\")"}));
  EXPECT_EQ(wrapped(*canvas_, Face::kMono, "/data/step_000008.bin", width, 2),
            (std::vector<std::string>{"/data/", "step_000008.bin"}));
}

TEST_F(CanvasTest, NoMoreLinesThanAsked) {
  auto lines = wrapped(*canvas_, Face::kBody, "one two three four five six seven eight nine ten", 60, 2);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(lines.back().ends_with("…"));
}

TEST_F(CanvasTest, LabelsStayInside) {
  Box within{100, 100, 400, 300};
  for (Point middle : {Point{0, 0}, Point{500, 500}, Point{250, 200}}) {
    Label label{middle, theme_.colours.error, true, {"all_reduce becomes #12", "same type and count"}};
    Box box = label_box(*canvas_, label, within);
    EXPECT_GE(box.left, within.left);
    EXPECT_LE(box.right, within.right);
    EXPECT_GE(box.top, within.top);
    EXPECT_LE(box.bottom, within.bottom);
  }
}

TEST(PaletteTest, EveryThemeHasAName) {
  for (ThemeName theme : {ThemeName::kDark, ThemeName::kLight, ThemeName::kColorblind})
    EXPECT_EQ(theme_of(name_of(theme)), theme);
  EXPECT_EQ(theme_of("pink"), std::nullopt);
}

double luminance(Colour colour) {
  auto linear = [](double c) { return c <= 0.03928 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
  return 0.2126 * linear((colour & 255) / 255.0) + 0.7152 * linear((colour >> 8 & 255) / 255.0) +
         0.0722 * linear((colour >> 16 & 255) / 255.0);
}
double contrast(Colour a, Colour b) {
  double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

TEST(PaletteTest, TextCanBeReadOnEverySurface) {
  for (ThemeName name : {ThemeName::kDark, ThemeName::kLight, ThemeName::kColorblind}) {
    const Palette& p = palette_of(name);
    for (Colour ground : {p.window, p.pane, p.raised, p.selected, p.lane_even, p.lane_odd}) {
      EXPECT_GE(contrast(p.text, ground), 8.4) << name_of(name);
      EXPECT_GE(contrast(p.text_low, ground), 4.3) << name_of(name);
    }
    for (Severity severity : {Severity::kError, Severity::kWarning, Severity::kInfo}) {
      EXPECT_GE(contrast(colour_of(p, severity), p.pane), 4.5) << name_of(name);
      EXPECT_GE(contrast(colour_of(p, severity), ground_of(p, severity)), 4.5) << name_of(name);
    }
  }
}

// How far apart two colours are, CIE76, to who sees colours so (Machado 2009, in linear light).
using Vision = std::array<std::array<double, 3>, 3>;
std::array<double, 3> seen_lab(const Vision& vision, Colour colour) {
  auto times = [](const Vision& matrix, std::array<double, 3> v) {
    std::array<double, 3> result{};
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t k = 0; k < 3; ++k) result[i] += matrix[i][k] * v[k];
    return result;
  };
  auto linear = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
  std::array<double, 3> rgb{};
  for (std::size_t i = 0; i < 3; ++i) rgb[i] = linear((colour >> 8 * i & 255) / 255.0);
  rgb = times(vision, rgb);
  for (double& part : rgb) part = std::clamp(part, 0.0, 1.0);
  const Vision kXyz = {{{0.4124564, 0.3575761, 0.1804375},
                        {0.2126729, 0.7151522, 0.0721750},
                        {0.0193339, 0.1191920, 0.9503041}}};
  std::array<double, 3> xyz = times(kXyz, rgb), white = times(kXyz, {1, 1, 1});
  auto f = [&](std::size_t i) {
    double part = xyz[i] / white[i];
    return part > 216.0 / 24389 ? std::cbrt(part) : (24389.0 / 27 * part + 16) / 116;
  };
  return {116 * f(1) - 16, 500 * (f(0) - f(1)), 200 * (f(1) - f(2))};
}
double apart(const Vision& vision, Colour a, Colour b) {
  auto one = seen_lab(vision, a), other = seen_lab(vision, b);
  return std::hypot(one[0] - other[0], one[1] - other[1], one[2] - other[2]);
}

TEST(PaletteTest, BarsAreToldApartWithAnyColourVision) {
  const std::array<Vision, 4> kVisions = {
      {{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
       {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}},
       {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}},
       {{{1.255528, -0.076749, -0.178779},
         {-0.078411, 0.930809, 0.147602},
         {0.004733, 0.691367, 0.303900}}}}};
  for (ThemeName name : {ThemeName::kDark, ThemeName::kLight, ThemeName::kColorblind})
    for (const Vision& vision : kVisions) {
      const Palette& p = palette_of(name);
      const std::array<Colour, 9> bars = {p.backward, p.collective, p.barrier, p.file_read, p.file_write,
                                          p.copy,     p.focus,      p.error,   p.warning};
      for (std::size_t i = 0; i < bars.size(); ++i) {
        EXPECT_GE(apart(vision, p.optimizer, bars[i]), 20) << name_of(name) << " " << i;
        for (std::size_t k = 0; k < i; ++k)
          EXPECT_GE(apart(vision, bars[i], bars[k]), 10) << name_of(name) << " " << i << " " << k;
      }
    }
  for (ThemeName name : {ThemeName::kDark, ThemeName::kLight, ThemeName::kColorblind})
    EXPECT_GE(contrast(palette_of(name).optimizer, palette_of(name).optimizer_text), 4.5) << name_of(name);
}

TEST(PaletteTest, TheRampsLightnessGoesOneWay) {
  for (ThemeName name : {ThemeName::kDark, ThemeName::kLight, ThemeName::kColorblind}) {
    const Palette& p = palette_of(name);
    double direction = name == ThemeName::kLight ? -1 : 1;
    for (int i = 0; i < 60; ++i)
      EXPECT_GE(
          direction * (luminance(ramp_colour(p, (i + 1) / 60.0f)) - luminance(ramp_colour(p, i / 60.0f))),
          -0.004)
          << name_of(name) << " " << i;
  }
}

}  // namespace
}  // namespace ddpscope::viewer
