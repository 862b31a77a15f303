// An OpenGL context without a display: EGL on no surface (Mesa), drawing into a framebuffer of memory.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "trace/result.h"

namespace ddpscope::viewer {

struct Image {
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgba;  // rows from the top
};

class OffscreenGl {
 public:
  // Errors: no EGL without a surface here, or no OpenGL 3.3.
  static Result<std::unique_ptr<OffscreenGl>> open(int width, int height);
  ~OffscreenGl();
  OffscreenGl(const OffscreenGl&) = delete;

  int width() const { return width_; }
  int height() const { return height_; }
  Image read() const;
  void finish() const;  // until all is drawn

 private:
  OffscreenGl(int width, int height) : width_(width), height_(height) {}

  int width_, height_;
  void* display_ = nullptr;
  void* context_ = nullptr;
  unsigned framebuffer_ = 0, colour_ = 0;
};

// Errors: the file cannot be written; nothing half is left behind.
Result<bool> write_png(const Image& image, const std::string& path);

}  // namespace ddpscope::viewer
