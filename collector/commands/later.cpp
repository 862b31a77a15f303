// The commands that the contract names and this version lacks: they take any argument and say so.
#include "collector/commands/command.h"

namespace ddpscope::commands {
namespace {

Action declare_later(CLI::App& app, const char* name) {
  app.allow_extras();
  return [name] { return not_in_this_version(std::string("ddpscope ") + name); };
}

}  // namespace

Action declare_diff(CLI::App& app) { return declare_later(app, "diff"); }

}  // namespace ddpscope::commands
