// ddpscope-viewer: opens a trace and shows it in a window, or makes a picture of it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>

#include "collector/merged/make.h"
#include "collector/merged/reader.h"
#include "collector/reports/escape.h"
#include "trace/write/identity.h"
#include "viewer/app/app.h"
#include "viewer/app/bookmarks.h"
#include "viewer/draw/gui_context.h"
#include "viewer/offscreen/picture.h"
#include "viewer/options.h"
#include "viewer/window/window.h"

namespace {

using namespace ddpscope;
using viewer::App;
using viewer::Options;

constexpr int kDone = 0, kCannotRun = 2;

void print(const Error& error, const char* kind) {
  std::string where = error.where.empty() ? "" : reports::escape(error.where) + ": ";
  fmt::print(stderr, "{}: {}{}\n", kind, where, reports::escape(error.what));
  if (!error.hint.empty()) fmt::print(stderr, "hint: {}\n", reports::escape(error.hint));
}

int fail(const Error& error) {
  print(error, "error");
  return kCannotRun;
}

Result<merged::Reader> open_trace(const std::string& trace, reading::Progress& progress,
                                  const merged::TakePreview& take = {}) {
  trace::Identity here = trace::read_identity();
  auto made = merged::merged_file_of(trace, progress, &here, -1, take);
  if (!made) return made.error();
  for (const auto* told : {&made->errors, &made->warnings})
    for (const Error& error : *told) print(error, "warning");
  return merged::Reader::open(made->file);
}

std::optional<Error> show_stretch(App& app, const Options& options) {
  if (!options.from_ns && !options.to_ns) return std::nullopt;
  std::int64_t end_ns = app.reader().job().duration_ns;
  viewer::TimeSpan span{options.from_ns.value_or(0), std::min(options.to_ns.value_or(end_ns), end_ns)};
  if (span.from_ns >= end_ns)
    return Error{
        fmt::format("the run is over at {:.9g} s, before --from", static_cast<double>(end_ns) * 1e-9),
        options.trace, "times are in seconds since the job's start"};
  app.show_stretch(span);
  return std::nullopt;
}

// Of a trace, or a preview of it.
viewer::Opened app_of(merged::Reader reader, const Options& options) {
  bool picture = !options.screenshot.empty();
  auto app = std::make_unique<App>(
      std::move(reader), viewer::AppOptions{options.theme, options.scale, options.reduced_motion, picture});
  bool judged = app->reader().is_judged();  // else findings are still to come
  if (judged && !options.go_to.empty() && !app->go_to(options.go_to))
    return {nullptr,
            {"there is no finding '" + options.go_to + "' in this trace", options.trace,
             "`ddpscope report TRACE` lists ids and slugs"}};
  if (options.whole_run) app->show_whole_run();
  if (auto wrong = show_stretch(*app, options)) return {nullptr, *wrong};
  auto notes = viewer::notes_path(options.trace);
  app->state().bookmarks = viewer::read_bookmarks(notes);
  app->bookmarks_changed = [notes](const std::vector<viewer::Bookmark>& all) {
    if (auto written = viewer::write_bookmarks(notes, all); !written) print(written.error(), "warning");
  };
  return {std::move(app)};
}

viewer::Opened open_app(const Options& options, reading::Progress& progress,
                        const merged::TakePreview& take = {}) {
  auto reader = open_trace(options.trace, progress, take);
  if (!reader) return {nullptr, reader.error()};
  std::optional<viewer::Comparison> comparison;
  if (!options.other.empty()) {
    auto other = open_trace(options.other, progress);
    if (!other) return {nullptr, other.error()};
    comparison = viewer::compare(*reader, *other, options.other);
  }
  viewer::Opened opened = app_of(std::move(*reader), options);
  if (opened.app && comparison) opened.app->compare_with(std::move(*comparison));
  return opened;
}

int make_picture(App& app, const Options& options) {
  auto picture = viewer::picture_of(app, options.width, options.height);
  if (!picture) return fail(picture.error());
  auto written = viewer::write_png(*picture, options.screenshot);
  return written ? kDone : fail(written.error());
}

int print_bench(App& app, const Options& options, double open_ms) {
  auto text = viewer::bench(app, options.width, options.height, open_ms);
  if (!text) return fail(text.error());
  fmt::print("{}", *text);
  return kDone;
}

int open_window(const Options& options) {
  viewer::Loading loading;
  auto show = [&](merged::Reader preview) { loading.show(app_of(std::move(preview), options).app); };
  auto start = [&] {
    return std::async(std::launch::async, [&] { return open_app(options, loading, show); });
  };
  auto shown = viewer::show_window("ddpscope: " + options.trace,
                                   {options.theme, options.scale, options.reduced_motion}, loading, start);
  if (shown) return kDone;
  // Whatever kept the window from opening, a file that is none is the first thing to know.
  if (!std::filesystem::is_directory(options.trace)) {
    reading::Silent silent;
    if (auto reader = open_trace(options.trace, silent); !reader) return fail(reader.error());
  }
  return fail(shown.error());
}

int run(int argc, char** argv) {
  auto parsed = viewer::parse(argc, argv);
  if (!parsed) return fail(parsed.error());
  if (parsed->exit_code) return *parsed->exit_code;
  const Options& options = parsed->options;
  viewer::GuiContext context;
  if (options.screenshot.empty() && !options.bench) return open_window(options);
  auto begin = std::chrono::steady_clock::now();
  reading::Silent silent;
  viewer::Opened trace = open_app(options, silent);
  if (!trace.app) return fail(trace.error);
  double open_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return options.bench ? print_bench(*trace.app, options, open_ms) : make_picture(*trace.app, options);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    return fail({"out of memory", "", "view the trace on a machine that has more"});
  } catch (const std::exception& error) {
    return fail({error.what(), "", ""});
  }
}
