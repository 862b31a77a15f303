// What the command line asks for.
#include "viewer/options.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "collector/commands/view_options.h"
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
  commands::ViewOptions given;
  CLI::App app("Shows the time lines of all ranks of a trace, and its findings on them.", "ddpscope-viewer");
  app.set_version_flag("--version", DDPSCOPE_VERSION_TEXT);
  commands::declare_view_options(app, given);
  constexpr const char* kHint = "`ddpscope-viewer --help` shows the options";
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return Error{error.what(), "", kHint};
    parsed.exit_code = app.exit(error);
    return parsed;
  }
  if (!given.size.empty() && !read_size(given.size, options.width, options.height))
    return Error{"--size is no WIDTHxHEIGHT between 320 and 16384: " + given.size, "", kHint};
  if (std::string end = std::filesystem::path(given.screenshot).extension(); !is_png(end))
    return Error{"--screenshot writes PNG, not " + end, given.screenshot, "name the picture *.png"};
  if (std::isnan(given.scale)) return Error{"--scale is no number", "", kHint};
  if (auto stretch = read_stretch(given.from, given.to, options); !stretch) return stretch.error();
  options.trace = given.trace, options.other = given.other, options.go_to = given.go_to;
  options.screenshot = given.screenshot, options.scale = given.scale, options.bench = given.bench;
  options.whole_run = given.whole_run, options.reduced_motion = given.reduced_motion;
  options.theme = theme_of(given.theme).value_or(ThemeName::kDark);
  return parsed;
}

}  // namespace ddpscope::viewer
