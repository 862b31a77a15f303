// An OpenGL context without a display.
#include "viewer/offscreen/gl_context.h"

#define EGL_NO_PLATFORM_SPECIFIC_TYPES  // X11's headers need not be there
#include <epoxy/egl.h>
#include <epoxy/gl.h>

#include <algorithm>
#include <string>

#include "viewer/gl/libraries.h"

namespace ddpscope::viewer {
namespace {

Error no_context(const std::string& what) {
  return {
      what, "",
      "pictures without a display need EGL and OpenGL 3.3: Debian's libegl1 and libgl1-mesa-dri have both"};
}

// 3.3 with the core profile: what the texture and rectangles need, and what every driver since 2010 has.
constexpr EGLint kContext[] = {EGL_CONTEXT_MAJOR_VERSION,
                               3,
                               EGL_CONTEXT_MINOR_VERSION,
                               3,
                               EGL_CONTEXT_OPENGL_PROFILE_MASK,
                               EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
                               EGL_NONE};

EGLDisplay surfaceless_display() {
  auto get = reinterpret_cast<PFNEGLGETPLATFORMDISPLAYEXTPROC>(eglGetProcAddress("eglGetPlatformDisplayEXT"));
  return get ? get(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr) : EGL_NO_DISPLAY;
}

}  // namespace

Result<std::unique_ptr<OffscreenGl>> OffscreenGl::open(int width, int height) {
  static constexpr const char* kLibraries[] = {"libEGL.so.1", "libGL.so.1"};
  if (auto missing = missing_library(kLibraries)) return *missing;
  std::unique_ptr<OffscreenGl> gl(new OffscreenGl(width, height));
  EGLDisplay display = surfaceless_display();
  if (display == EGL_NO_DISPLAY || !eglInitialize(display, nullptr, nullptr))
    return no_context("there is no EGL that draws without a surface");
  gl->display_ = display;
  eglBindAPI(EGL_OPENGL_API);
  EGLContext context = eglCreateContext(display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, kContext);
  if (context == EGL_NO_CONTEXT) return no_context("EGL makes no context of OpenGL 3.3");
  gl->context_ = context;
  if (!eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context))
    return no_context("EGL makes its context not current");
  glGenTextures(1, &gl->colour_);
  glBindTexture(GL_TEXTURE_2D, gl->colour_);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
  glGenFramebuffers(1, &gl->framebuffer_);
  glBindFramebuffer(GL_FRAMEBUFFER, gl->framebuffer_);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, gl->colour_, 0);
  if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
    return Error{
        "OpenGL makes no picture of " + std::to_string(width) + "x" + std::to_string(height) + " pixels", "",
        "ask for a smaller --size"};
  return gl;
}

OffscreenGl::~OffscreenGl() {
  if (context_) {
    if (framebuffer_) glDeleteFramebuffers(1, &framebuffer_);
    if (colour_) glDeleteTextures(1, &colour_);
    eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    eglDestroyContext(display_, context_);
  }
  if (display_) eglTerminate(display_);
}

void OffscreenGl::finish() const { glFinish(); }

Image OffscreenGl::read() const {
  Image image{width_, height_, std::vector<std::uint8_t>(static_cast<std::size_t>(width_) * height_ * 4)};
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer_);
  glReadPixels(0, 0, width_, height_, GL_RGBA, GL_UNSIGNED_BYTE, image.rgba.data());
  std::size_t row = static_cast<std::size_t>(width_) * 4;  // OpenGL's rows come from the bottom
  for (int y = 0; y < height_ / 2; ++y)
    std::swap_ranges(image.rgba.begin() + y * row, image.rgba.begin() + (y + 1) * row,
                     image.rgba.begin() + (height_ - 1 - y) * row);
  return image;
}

}  // namespace ddpscope::viewer
