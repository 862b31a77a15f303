// Draws Dear ImGui's lists with OpenGL 3.3, whoever made the context current, and what lists cannot say.
#pragma once
#include <deque>
#include <memory>
#include <vector>

#include "trace/result.h"
#include "viewer/draw/canvas.h"

struct ImDrawCmd;

namespace ddpscope::viewer {

// Rows are parts of one texture; clearing is a callback within the list.
class GlSurface : public Surface {
 public:
  GlSurface();
  ~GlSurface() override;
  std::size_t room() const override { return kRows - rows_; }
  Pixels add_pixels(ImDrawList& list, std::size_t width, std::size_t rows, const Box& box) override;
  void clear(ImDrawList& list, const Box& box, Colour colour) override;
  void begin();   // of a frame
  void upload();  // what was added since then

 private:
  static constexpr std::size_t kWidth = 4096, kRows = 1024;

  struct Cleared {
    Box box;
    Colour colour;
  };
  static void clear_now(const ImDrawList*, const ImDrawCmd* command);

  unsigned texture_ = 0;
  std::size_t rows_ = 0;
  int widest_ = 0;
  std::vector<Colour> pixels_;
  std::vector<Colour> spill_;    // of rows that find no room: seen by nobody
  std::deque<Cleared> cleared_;  // of this frame: the list points to them
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
  Surface& surface() { return *surface_; }
  // After ImGui::Render.
  void draw();

 private:
  Renderer() = default;
  std::unique_ptr<GlSurface> surface_;
};

}  // namespace ddpscope::viewer
