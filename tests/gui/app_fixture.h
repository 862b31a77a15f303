// The viewer without OpenGL, before which input is written by hand.
#pragma once
#include <gtest/gtest.h>
#include <imgui.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/gui/seeded_trace.h"
#include "viewer/app/app.h"
#include "viewer/draw/gui_context.h"

namespace ddpscope::viewer {

inline constexpr float kWidth = 1600, kHeight = 900;

class AppTest : public testing::Test {
 protected:
  App& open(const std::string& text) {
    auto reader = tests::open_text(text, folder_);
    if (!reader) throw std::runtime_error("no trace");
    AppOptions options;
    options.reduced_motion = true;
    app_ = std::make_unique<App>(std::move(*reader), options);
    frame();
    return *app_;
  }

  // Draws; returns how many vertices.
  int frame(double seconds = 1 / 60.0) {
    ImGuiIO& io = ImGui::GetIO();
    if (app_->wants_fonts()) app_->build_fonts();
    io.DisplaySize = size_;
    io.DeltaTime = static_cast<float>(seconds);
    ImGui::NewFrame();
    app_->frame(nullptr);
    ImGui::Render();
    return ImGui::GetDrawData()->TotalVtxCount;
  }
  // Whether the last frame drew that character, in any face.
  static bool drew(char character) {
    const ImDrawData& drawn = *ImGui::GetDrawData();
    for (const ImFont* font : ImGui::GetIO().Fonts->Fonts) {
      const ImFontGlyph* glyph = font->FindGlyphNoFallback(static_cast<ImWchar>(character));
      for (int i = 0; glyph && i < drawn.CmdListsCount; ++i)
        for (const ImDrawVert& vertex : drawn.CmdLists[i]->VtxBuffer)
          if (vertex.uv.x == glyph->U0 && vertex.uv.y == glyph->V0) return true;
    }
    return false;
  }
  // Until all that is shown has been read.
  void settle() {
    auto comes = [this] { return app_->reads() || app_->moves(); };
    for (int i = 0; i < 5000 && (frame(), comes()); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_FALSE(comes());
  }
  void press(Key key, bool shift = false, bool ctrl = false) {
    app_->keys().press({key, shift, ctrl});
    frame();
  }
  void move(Point at) {
    move_mouse(ImGui::GetIO(), at);
    frame();
  }
  void drag(Button button, Point from, Point to) {
    move(from);
    hold_mouse(ImGui::GetIO(), button, true);
    frame();
    move(to);
    hold_mouse(ImGui::GetIO(), button, false);
    frame();
  }
  void click(Point at) { drag(Button::kLeft, at, at); }
  Point in_plot(float part_x, float part_y) const {
    Box plot = app_->panes().plot_of(app_->panes().lanes);
    return {plot.left + part_x * plot.width(), plot.top + part_y * plot.height()};
  }

  ImVec2 size_{kWidth, kHeight};
  GuiContext context_;
  tests::TemporaryFolder folder_;
  std::unique_ptr<App> app_;
};

}  // namespace ddpscope::viewer
