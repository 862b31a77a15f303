// ddpscope view: the viewer is a program of its own, so that the command needs no window system's libraries.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "collector/commands/command.h"
#include "collector/commands/pictures.h"
#include "collector/commands/view_options.h"

namespace ddpscope::commands {
namespace {

Outcome view(const std::vector<std::string>& words) {
  std::string path = viewer_program();
  std::vector<char*> arguments = {path.data()};
  std::vector<std::string> own = words;
  for (std::string& word : own) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(path.c_str(), arguments.data());
  if (errno == ENOENT)
    return failed({"the viewer is not installed", path,
                   "the wheel and the package ddpscope-viewer have it; a build from source makes it where "
                   "Dear ImGui, GLFW "
                   "and FreeType are "
                   "found: cmake says what is missing"});
  return failed({std::string("the viewer cannot be started: ") + std::strerror(errno), path, ""});
}

}  // namespace

Action declare_view(CLI::App& app) {
  auto options = std::make_shared<ViewOptions>();
  declare_view_options(app, *options);
  return [&app, options] { return view(words_of(app)); };
}

}  // namespace ddpscope::commands
