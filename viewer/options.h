// What the command line asks for.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "trace/result.h"
#include "viewer/theme/palette.h"

namespace ddpscope::viewer {

struct Options {
  std::string trace;
  std::string other;  // to compare with, or empty
  std::string go_to;  // id, slug or number of a finding; empty: the worst
  std::string screenshot;
  int width = 1920, height = 1080;
  ThemeName theme = ThemeName::kDark;
  float scale = 1;
  bool bench = false;
  bool whole_run = false;
  std::optional<std::int64_t> from_ns, to_ns;  // in view at first, since the job's start
  bool reduced_motion = false;
};

struct Parsed {
  Options options;
  std::optional<int> exit_code;  // --help or --version was answered
};
Result<Parsed> parse(int argc, char** argv);

}  // namespace ddpscope::viewer
