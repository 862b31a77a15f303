// Draws Dear ImGui's lists with OpenGL 3.3.
#include "viewer/gl/renderer.h"

#include <backends/imgui_impl_opengl3.h>
#include <epoxy/gl.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "viewer/app/app.h"

namespace ddpscope::viewer {
namespace {

ImTextureID id_of(unsigned texture) {
  return reinterpret_cast<ImTextureID>(static_cast<std::uintptr_t>(texture));
}

}  // namespace

GlSurface::GlSurface() : pixels_(static_cast<std::size_t>(kWidth) * kRows) {
  glGenTextures(1, &texture_);
  glBindTexture(GL_TEXTURE_2D, texture_);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, kWidth, kRows, 0, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
}

GlSurface::~GlSurface() { glDeleteTextures(1, &texture_); }

Pixels GlSurface::add_pixels(ImDrawList& list, std::size_t width, std::size_t rows, const Box& box) {
  width = std::min<std::size_t>(width, kWidth);
  if (rows_ + rows > kRows) {
    spill_.resize(kWidth);
    return {spill_.data(), 0};
  }
  Pixels pixels{pixels_.data() + rows_ * kWidth, kWidth};
  for (std::size_t i = 0; i < rows; ++i) std::fill_n(pixels.row(i), width, 0u);
  auto v = [](std::size_t row) { return static_cast<float>(row) / kRows; };
  list.AddImage(id_of(texture_), {box.left, box.top}, {box.right, box.bottom}, {0, v(rows_)},
                {static_cast<float>(width) / kWidth, v(rows_ + rows)});
  rows_ += rows;
  widest_ = std::max(widest_, static_cast<int>(width));
  return pixels;
}

void GlSurface::clear(ImDrawList& list, const Box& box, Colour colour) {
  list.AddCallback(&GlSurface::clear_now, &cleared_.emplace_back(Cleared{box, colour}));
}

// Of the pixels whose middle a rectangle would cover, those within the list's clip rectangle.
void GlSurface::clear_now(const ImDrawList*, const ImDrawCmd* command) {
  const auto& [box, colour] = *static_cast<const Cleared*>(command->UserCallbackData);
  const ImGuiIO& io = ImGui::GetIO();
  ImVec2 scale = io.DisplayFramebufferScale;
  auto edge = [](float at, float clip_from, float clip_to, float by) {
    return static_cast<int>(
        std::clamp(std::ceil(at * by - 0.5f), std::floor(clip_from * by), std::floor(clip_to * by)));
  };
  const ImVec4& clip = command->ClipRect;
  int left = edge(box.left, clip.x, clip.z, scale.x), right = edge(box.right, clip.x, clip.z, scale.x);
  int top = edge(box.top, clip.y, clip.w, scale.y), bottom = edge(box.bottom, clip.y, clip.w, scale.y);
  if (right <= left || bottom <= top) return;
  int width = static_cast<int>(io.DisplaySize.x * scale.x),
      height = static_cast<int>(io.DisplaySize.y * scale.y);
  // Without a scissor test Mesa only notes the colour; with one it draws a quad.
  bool whole = left == 0 && top == 0 && right == width && bottom == height;
  if (whole)
    glDisable(GL_SCISSOR_TEST);
  else
    glScissor(left, height - bottom, right - left, bottom - top);
  auto part = [&](int shift) { return static_cast<float>(colour >> shift & 0xff) / 255; };
  glClearColor(part(0), part(8), part(16), 1);
  glClear(GL_COLOR_BUFFER_BIT);
  if (whole) glEnable(GL_SCISSOR_TEST);
}

void GlSurface::begin() { cleared_.clear(); }

void GlSurface::upload() {
  if (rows_ > 0) {
    glBindTexture(GL_TEXTURE_2D, texture_);
    glPixelStorei(GL_UNPACK_ROW_LENGTH, kWidth);
    glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, widest_, static_cast<int>(rows_), GL_RGBA, GL_UNSIGNED_BYTE,
                    pixels_.data());
    glPixelStorei(GL_UNPACK_ROW_LENGTH, 0);
  }
  rows_ = 0, widest_ = 0;
}

Result<std::unique_ptr<Renderer>> Renderer::open() {
  GLint major = 0, minor = 0;
  glGetIntegerv(GL_MAJOR_VERSION, &major);
  glGetIntegerv(GL_MINOR_VERSION, &minor);
  if (major * 10 + minor < 32)
    return Error{
        "OpenGL is too old: " + std::to_string(major) + "." + std::to_string(minor) + " where 3.3 is needed",
        "", "make a picture with --screenshot, which brings its own, or set LIBGL_ALWAYS_SOFTWARE=1"};
  if (!ImGui_ImplOpenGL3_Init("#version 330 core"))
    return Error{"OpenGL could not be prepared for drawing", "", "make a picture with --screenshot"};
  std::unique_ptr<Renderer> renderer(new Renderer);
  renderer->surface_ = std::make_unique<GlSurface>();
  return renderer;
}

Renderer::~Renderer() {
  surface_.reset();
  ImGui_ImplOpenGL3_Shutdown();
}

namespace {

void make_texture_anew() {
  ImGui_ImplOpenGL3_DestroyFontsTexture();
  ImGui_ImplOpenGL3_CreateFontsTexture();
}

}  // namespace

Fonts Renderer::load_fonts(float scale) {
  Fonts fonts = build_fonts(*ImGui::GetIO().Fonts, scale);
  make_texture_anew();
  return fonts;
}

void Renderer::load_fonts(App& app) {
  app.build_fonts();
  make_texture_anew();
}

void Renderer::begin() {
  surface_->begin();
  ImGui_ImplOpenGL3_NewFrame();
}

void Renderer::draw() {
  surface_->upload();
  ImGuiIO& io = ImGui::GetIO();
  glViewport(0, 0, static_cast<int>(io.DisplaySize.x * io.DisplayFramebufferScale.x),
             static_cast<int>(io.DisplaySize.y * io.DisplayFramebufferScale.y));
  glClearColor(0, 0, 0, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
}

}  // namespace ddpscope::viewer
