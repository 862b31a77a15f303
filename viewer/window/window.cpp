// The window: GLFW's events become the app's keys and mouse.
#include "viewer/window/window.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <backends/imgui_impl_glfw.h>
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <chrono>

#include "viewer/gl/libraries.h"
#include "viewer/gl/renderer.h"
#include "viewer/window/glfw_keys.h"

namespace ddpscope::viewer {
namespace {

constexpr const char* kInstead =
    "make a picture instead: ddpscope view TRACE --screenshot PNG --size 1920x1080";
// At scale 1: there is room for lanes.
constexpr float kLeastWidth = 600, kLeastHeight = 400;
// Hovering and text cursors of Dear ImGui settle in the frames after an event.
constexpr int kFramesAfterEvent = 3;
constexpr double kLookSeconds = 0.1;

// What the window's user pointer points to.
struct Shown {
  std::unique_ptr<App> app;  // null while the trace is opened
};

void on_key(GLFWwindow* window, int key, int scancode, int action, int mods) {
  auto& shown = *static_cast<Shown*>(glfwGetWindowUserPointer(window));
  bool typing = ImGui::GetIO().WantTextInput, ctrl = mods & GLFW_MOD_CONTROL, shift = mods & GLFW_MOD_SHIFT;
  if (!shown.app || action == GLFW_RELEASE || (typing && !ctrl && key != GLFW_KEY_ESCAPE)) return;
  if (auto known = key_of(key, glfwGetKeyName(key, scancode), shift, ctrl))
    shown.app->keys().press({*known, shift, ctrl});
}

void on_character(GLFWwindow* window, unsigned character) {
  auto& shown = *static_cast<Shown*>(glfwGetWindowUserPointer(window));
  if (!shown.app || ImGui::GetIO().WantTextInput) return;
  if (auto known = key_of_typed(character)) shown.app->keys().press({*known});
}

class Window {
 public:
  Result<bool> open(const std::string& title, const AppOptions& options) {
    static constexpr const char* kLibraries[] = {"libGL.so.1"};
    if (auto missing = missing_library(kLibraries)) return *missing;
    static std::string why;
    glfwSetErrorCallback([](int, const char* text) { why = text; });
    if (!glfwInit()) return Error{"there is no display to open a window on: " + why, "", kInstead};
    started_ = true;
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
    glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
    glfwWindowHint(GLFW_OPENGL_FORWARD_COMPAT, GLFW_TRUE);
    glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_TRUE);
    window_ = glfwCreateWindow(1600, 900, title.c_str(), nullptr, nullptr);
    if (!window_)
      return Error{"no window with OpenGL 3.3 can be opened: " + why, "",
                   std::string(kInstead) + ", or set LIBGL_ALWAYS_SOFTWARE=1"};
    glfwMakeContextCurrent(window_);
    glfwSwapInterval(1);
    glfwSetWindowUserPointer(window_, &shown_);
    glfwSetKeyCallback(window_, on_key);
    glfwSetCharCallback(window_, on_character);
    if (!ImGui_ImplGlfw_InitForOpenGL(window_, true)) return Error{"the window takes no input", "", kInstead};
    attached_ = true;
    auto renderer = Renderer::open();
    if (!renderer) return renderer.error();
    renderer_ = std::move(*renderer);
    options_ = options;
    float x = 1, y = 1;  // twice on a screen of twice the points
    glfwGetWindowContentScale(window_, &x, &y);
    scale_of_screen_ = x > 0 ? x : 1;
    options_.scale *= scale_of_screen_;
    glfwSetWindowSizeLimits(window_, static_cast<int>(kLeastWidth * scale_of_screen_),
                            static_cast<int>(kLeastHeight * scale_of_screen_), GLFW_DONT_CARE,
                            GLFW_DONT_CARE);
    return true;
  }

  ~Window() {
    shown_.app.reset();
    renderer_.reset();
    if (attached_) ImGui_ImplGlfw_Shutdown();
    if (window_) glfwDestroyWindow(window_);
    if (started_) glfwTerminate();
  }

  // What is opened goes on when the user closes the window, so that the next start finds it. If that fails
  // while a part is shown, the part stays, says so, and the error is returned when the window is closed.
  Result<bool> run(Opening opening, Loading& loading) {
    Theme theme{options_.theme, options_.scale, palette_of(options_.theme), {}};
    theme.fonts = renderer_->load_fonts(theme.scale);
    while (!glfwWindowShouldClose(window_)) {
      if (opening.valid())
        if (take(opening, loading); failure_ && !shown_.app) return *failure_;
      wait_for_event(opening.valid());
      frame([&] { shown_.app ? shown_.app->frame(&renderer_->surface()) : draw_loading(theme, loading); });
    }
    if (opening.valid()) {
      glfwHideWindow(window_);
      opening.wait();
    }
    if (failure_) return *failure_;
    return true;
  }

 private:
  template <class Draw>
  void frame(const Draw& draw) {
    renderer_->begin();
    ImGui_ImplGlfw_NewFrame();
    ImGui::NewFrame();
    draw();
    ImGui::Render();
    renderer_->draw();
    glfwSwapBuffers(window_);
  }

  void take(Opening& opening, Loading& loading) {
    if (opening.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
      Opened opened = opening.get();
      if (opened.app)
        show(std::move(opened.app));
      else
        failure_ = opened.error;
    } else if (auto preview = loading.take_preview()) {
      show(std::move(preview));
    }
    if (!shown_.app) return;
    if (failure_)
      shown_.app->set_failed(failure_->what);
    else
      opening.valid() ? shown_.app->set_coming(loading.text(), loading.part()) : shown_.app->set_coming("");
  }

  void show(std::unique_ptr<App> app) {
    if (shown_.app)
      app->take_over(*shown_.app);
    else
      app->scale_by(scale_of_screen_);
    app->copy = [this](const std::string& text) { glfwSetClipboardString(window_, text.c_str()); };
    app->on_arrival([] { glfwPostEmptyEvent(); });
    shown_.app = std::move(app);
    frames_ = kFramesAfterEvent;
  }

  // `coming`: how far that is is looked at ten times a second.
  void wait_for_event(bool coming) {
    if (frames_ > 0 || (shown_.app && shown_.app->moves())) {
      glfwPollEvents();
    } else {
      double rest = shown_.app ? shown_.app->rest_left() : 0;
      if (coming && (rest == 0 || rest > kLookSeconds)) rest = kLookSeconds;
      rest > 0 ? glfwWaitEventsTimeout(rest) : glfwWaitEvents();
      frames_ = kFramesAfterEvent;
    }
    if (frames_ > 0) --frames_;
    if (touched()) frames_ = kFramesAfterEvent;
    if (shown_.app && shown_.app->wants_fonts()) renderer_->load_fonts(*shown_.app);
  }

  static void draw_loading(const Theme& theme, const Loading& loading) {
    Canvas canvas(*ImGui::GetBackgroundDrawList(), theme);
    ImVec2 size = ImGui::GetIO().DisplaySize;
    canvas.fill({0, 0, size.x, size.y}, theme.colours.window);
    float middle = size.y / 2, half = canvas.px(160);
    Box bar{size.x / 2 - half, middle, size.x / 2 + half, middle + canvas.px(4)};
    canvas.text_centred(Face::kBody, {bar.left, middle - canvas.px(34), bar.right, middle - canvas.px(10)},
                        theme.colours.text_mid, loading.text());
    canvas.fill(bar, theme.colours.raised, canvas.px(2));
    canvas.fill({bar.left, bar.top, bar.left + bar.width() * loading.part(), bar.bottom}, theme.colours.link,
                canvas.px(2));
  }

  static bool touched() {
    const ImGuiIO& io = ImGui::GetIO();
    return io.MouseWheel != 0 || io.MouseDown[0] || io.MouseDown[1] || io.MouseDown[2] || io.WantTextInput ||
           io.MouseDelta.x != 0 || io.MouseDelta.y != 0;
  }

  bool started_ = false, attached_ = false;
  GLFWwindow* window_ = nullptr;
  std::unique_ptr<Renderer> renderer_;
  AppOptions options_;
  float scale_of_screen_ = 1;
  int frames_ = kFramesAfterEvent;  // to be drawn though nothing happens
  Shown shown_;
  std::optional<Error> failure_;  // to open all of the trace
};

}  // namespace

std::string Loading::text() const {
  return all_ > 1 ? fmt::format("{}, {} of {}", stage_.load(), done_.load(), all_.load()) : stage_.load();
}

Result<bool> show_window(const std::string& title, const AppOptions& options, Loading& loading,
                         const std::function<Opening()>& start) {
  Window window;
  auto opened = window.open(title, options);
  return opened ? window.run(start(), loading) : opened;
}

}  // namespace ddpscope::viewer
