// Draws Dear ImGui's lists with OpenGL 3.3, whoever made the context current; and the one texture besides the
// atlas, into which rows of pixels go.
#pragma once
#include <memory>
#include <vector>

#include "trace/result.h"
#include "viewer/lanes/lane_frame.h"

namespace ddpscope::viewer {

class PixelTexture : public PixelRows {
 public:
  PixelTexture();
  ~PixelTexture() override;
  Colour* add(Canvas& canvas, std::size_t width, const Box& box) override;
  void upload();  // what was added since the last time

 private:
  static constexpr int kWidth = 4096, kRows = 1024;

  unsigned texture_ = 0;
  int rows_ = 0, widest_ = 0;
  std::vector<Colour> pixels_;
  std::vector<Colour> spill_;  // of rows that find no room: seen by nobody
};

class App;

class Renderer {
 public:
  // Errors: the context is older than OpenGL 3.2 (16-bit indices would not reach).
  static Result<std::unique_ptr<Renderer>> open();
  ~Renderer();
  Renderer(const Renderer&) = delete;

  // Fill the atlas and make its texture.
  Fonts load_fonts(float scale);
  void load_fonts(App& app);
  void begin();  // of a frame, before ImGui::NewFrame
  PixelTexture& pixels() { return *pixels_; }
  // After ImGui::Render.
  void draw();

 private:
  Renderer() = default;
  std::unique_ptr<PixelTexture> pixels_;
};

}  // namespace ddpscope::viewer
