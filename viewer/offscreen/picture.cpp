// A picture of the viewer, and how fast it draws.
#include "viewer/offscreen/picture.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <chrono>

#include "viewer/gl/renderer.h"

namespace ddpscope::viewer {
namespace {

constexpr int kMostFrames = 400, kFramesAfterLast = 2;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Stage {
  std::unique_ptr<OffscreenGl> gl;
  std::unique_ptr<Renderer> renderer;
};

Result<Stage> open_stage(int width, int height) {
  Stage stage;
  auto gl = OffscreenGl::open(width, height);
  if (!gl) return gl.error();
  stage.gl = std::move(*gl);
  auto renderer = Renderer::open();
  if (!renderer) return renderer.error();
  stage.renderer = std::move(*renderer);
  return stage;
}

// Returns how long the frame took to be put together, without drawing it.
double draw_frame(App& app, Stage& stage) {
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = {static_cast<float>(stage.gl->width()), static_cast<float>(stage.gl->height())};
  io.DeltaTime = 1 / 60.0f;
  if (app.wants_fonts()) stage.renderer->load_fonts(app);
  stage.renderer->begin();
  auto start = Clock::now();
  ImGui::NewFrame();
  app.frame(&stage.renderer->surface());
  ImGui::Render();
  double ms = ms_since(start);
  stage.renderer->draw();
  return ms;
}

struct Times {
  std::vector<double> build, whole;
  double at(std::vector<double>& times, double part) const {
    std::sort(times.begin(), times.end());
    return times.empty()
               ? 0
               : times[std::min(times.size() - 1,
                                static_cast<std::size_t>(part * static_cast<double>(times.size())))];
  }
};

std::string line_of(const char* name, double part, Times times) {
  return fmt::format(
      "  {{\"zoom\": \"{}\", \"shown_part\": {}, \"frames\": {}, \"build_ms_p50\": {:.3f}, \"build_ms_p99\": "
      "{:.3f}, "
      "\"frame_ms_p50\": {:.3f}, \"frame_ms_p99\": {:.3f}}}",
      name, part, times.build.size(), times.at(times.build, 0.5), times.at(times.build, 0.99),
      times.at(times.whole, 0.5), times.at(times.whole, 0.99));
}

// Moves a little every frame, as a user who pans does.
Times measure(App& app, Stage& stage, double part) {
  constexpr int kFrames = 400;  // so that a hundredth of them is more than one
  Times times;
  std::int64_t run = std::max<std::int64_t>(app.reader().job().duration_ns, 1);
  auto length = static_cast<std::int64_t>(static_cast<double>(run) * part);
  for (int i = 0; i < kFrames; ++i) {
    std::int64_t from = (run - length) / 2 + length / 400 * i;
    app.state().flight_done = 1;
    app.state().shown = limited({from, from + std::max(length, kShortestShownNs)}, {0, run});
    auto start = Clock::now();
    times.build.push_back(draw_frame(app, stage));
    stage.gl->finish();
    times.whole.push_back(ms_since(start));
  }
  return times;
}

}  // namespace

Result<Image> picture_of(App& app, int width, int height) {
  auto stage = open_stage(width, height);
  if (!stage) return stage.error();
  int more = kFramesAfterLast;
  for (int i = 0; i < kMostFrames && more > 0; ++i) {
    draw_frame(app, *stage);
    if (!app.moves()) --more;
  }
  return stage->gl->read();
}

Result<std::string> bench(App& app, int width, int height, double open_ms) {
  auto opening = Clock::now();
  auto stage = open_stage(width, height);
  if (!stage) return stage.error();
  draw_frame(app, *stage);
  stage->gl->finish();
  double first_ms = ms_since(opening);
  // An empty window: below it no frame can be.
  Times floor;
  for (int i = 0; i < 50; ++i) {
    auto start = Clock::now();
    stage->renderer->begin();
    ImGui::NewFrame();
    ImGui::GetBackgroundDrawList()->AddRectFilled(
        {0, 0}, {static_cast<float>(width), static_cast<float>(height)}, 0xFF202020u);
    ImGui::Render();
    stage->renderer->draw();
    stage->gl->finish();
    floor.whole.push_back(ms_since(start));
  }
  std::string text = fmt::format(
      "{{\"open_ms\": {:.1f}, \"first_frame_ms\": {:.1f}, \"size\": \"{}x{}\", \"events\": {}, \"rows\": "
      "{},\n \"floor_ms_p50\": {:.3f}, \"floor_ms_p99\": {:.3f},\n \"zooms\": [\n",
      open_ms, first_ms, width, height, app.reader().job().events, app.rows().size(),
      floor.at(floor.whole, 0.5), floor.at(floor.whole, 0.99));
  struct Zoom {
    const char* name;
    double part;
  };
  bool first = true;
  for (Zoom zoom :
       {Zoom{"whole run", 1.0}, {"a tenth", 0.1}, {"a hundredth", 0.01}, {"a ten-thousandth", 0.0001}}) {
    text += (first ? "" : ",\n") + line_of(zoom.name, zoom.part, measure(app, *stage, zoom.part));
    first = false;
  }
  return text + "\n]}\n";
}

}  // namespace ddpscope::viewer
