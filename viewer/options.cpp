// What the command line asks for.
#include "viewer/options.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "ddpscope_version.h"

namespace ddpscope::viewer {
namespace {

constexpr int kLeastSide = 320, kMostSide = 16384;

// "1920x1080"
bool read_size(const std::string& text, int& width, int& height) {
  const char *at = text.data(), *end = at + text.size();
  auto first = std::from_chars(at, end, width);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != 'x') return false;
  auto second = std::from_chars(first.ptr + 1, end, height);
  if (second.ec != std::errc() || second.ptr != end) return false;
  return width >= kLeastSide && height >= kLeastSide && width <= kMostSide && height <= kMostSide;
}

// Or no ending at all.
bool is_png(std::string ending) {
  for (char& letter : ending) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return ending.empty() || ending == ".png";
}

// "1.103", seconds since the job's start.
std::optional<std::int64_t> read_time(const std::string& text) {
  constexpr double kMostSeconds = 1e9;  // 31 years
  double seconds = 0;
  auto read = std::from_chars(text.data(), text.data() + text.size(), seconds);
  bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  if (!whole || !(seconds >= 0 && seconds <= kMostSeconds)) return std::nullopt;
  return std::llround(seconds * 1e9);
}

// Of what was given.
Result<bool> read_stretch(const std::string& from, const std::string& to, Options& options) {
  constexpr const char* kHint = "times are in seconds since the job's start, as in a report";
  if (!from.empty() && !(options.from_ns = read_time(from)))
    return Error{"--from is no time: " + from, "", kHint};
  if (!to.empty() && !(options.to_ns = read_time(to))) return Error{"--to is no time: " + to, "", kHint};
  if (options.to_ns && *options.to_ns <= options.from_ns.value_or(0))
    return Error{"--to is not after " + std::string(options.from_ns ? "--from" : "the run's begin"), "",
                 kHint};
  return true;
}

}  // namespace

Result<Parsed> parse(int argc, char** argv) {
  Parsed parsed;
  Options& options = parsed.options;
  std::string size, from, to, theme = "dark";
  CLI::App app("Shows the time lines of all ranks of a trace, and its findings on them.", "ddpscope-viewer");
  app.set_version_flag("--version", DDPSCOPE_VERSION_TEXT);
  app.add_option("TRACE", options.trace, "folder that `ddpscope run` filled, or a merged file")->required();
  app.add_option("OTHER", options.other, "a second trace to compare with");
  app.add_option("--goto", options.go_to, "finding to start at: its id, slug or number (default: the worst)");
  CLI::Option* picture =
      app.add_option("--screenshot", options.screenshot, "writes a picture and ends; needs no display");
  app.add_option("--size", size, "of the picture in pixels, WIDTHxHEIGHT (default: 1920x1080)");
  app.add_option("--theme", theme, "dark, light or colorblind (default: dark)");
  app.add_option("--scale", options.scale, "of everything that is drawn (default: 1)")
      ->check(CLI::Range(0.5, 4.0));
  // A picture waits for the disk, which a measured frame must not.
  app.add_flag("--bench", options.bench, "prints how long opening and frames take, as JSON")
      ->excludes(picture);
  CLI::Option* whole_run =
      app.add_flag("--whole-run", options.whole_run, "starts with the whole run in view");
  app.add_option("--from", from, "starts with this in view: seconds since the job's start (default: 0)")
      ->excludes(whole_run);
  app.add_option("--to", to, "up to then (default: the run's end)")->excludes(whole_run);
  app.add_flag("--reduced-motion", options.reduced_motion, "jumps instead of flying");
  constexpr const char* kHint = "`ddpscope-viewer --help` shows the options";
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return Error{error.what(), "", kHint};
    parsed.exit_code = app.exit(error);
    return parsed;
  }
  if (!size.empty() && !read_size(size, options.width, options.height))
    return Error{"--size is no WIDTHxHEIGHT between 320 and 16384: " + size, "", kHint};
  if (std::string end = std::filesystem::path(options.screenshot).extension(); !is_png(end))
    return Error{"--screenshot writes PNG, not " + end, options.screenshot, "name the picture *.png"};
  if (std::isnan(options.scale)) return Error{"--scale is no number", "", kHint};
  if (auto stretch = read_stretch(from, to, options); !stretch) return stretch.error();
  auto known = theme_of(theme);
  if (!known) return Error{"there is no theme '" + theme + "'", "", "dark, light and colorblind are"};
  options.theme = *known;
  return parsed;
}

}  // namespace ddpscope::viewer
