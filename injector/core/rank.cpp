// By the variables of launchers, and by who else has them.
#include "injector/core/rank.h"

#include <errno.h>
#include <stdlib.h>

#include <string_view>

#include "injector/core/text_lines.h"
#include "trace/rank_variables.h"
#include "trace/write/process_stat.h"
#include "trace/write/raw_syscall.h"
#include "trace/write/text_file.h"

namespace ddpscope::injector {
namespace {

using std::string_view;

bool one_of_several;

bool is_shell(string_view name) { return name.ends_with("sh"); }
// Programs that have the variables only to hand them on to the rank.
bool stands_before_a_rank(string_view name) {
  return is_shell(name) || name == "ddpscope" || name == "timeout" || name == "numactl";
}

struct Sought {
  string_view name, value;
  bool found = false;
};

// Whether the process was started with this variable, of this value. False where it may not be asked.
bool has_variable(int pid, string_view name, string_view value) {
  Sought sought{name, value};
  auto take = [](const char* text, std::size_t bytes, void* argument) {
    auto& of = *static_cast<Sought*>(argument);
    string_view variable(text, bytes);
    of.found = bytes == of.name.size() + 1 + of.value.size() && variable.starts_with(of.name) &&
               text[of.name.size()] == '=' && variable.ends_with(of.value);
    return !of.found;
  };
  for_each_line(trace::ProcPath(pid, "environ").text(), take, &sought, '\0');
  return sought.found;
}

// Who started this process, or those that stand before it.
int maker_of_this() {
  constexpr int kDeepest = 8;
  auto pid = static_cast<int>(trace::raw_syscall(SYS_getppid));
  for (int i = 0; i < kDeepest && pid > 1; ++i) {
    char name[32];
    std::size_t bytes = trace::read_text(trace::ProcPath(pid, "comm").text(), name, sizeof(name));
    if (bytes == 0 || !stands_before_a_rank({name, bytes - 1})) break;  // it ends with a newline
    pid = static_cast<int>(trace::ProcessStat(pid).field(trace::ProcessStat::kParentPid));
  }
  return pid;
}

bool says_several() {
  if (is_shell(program_invocation_short_name)) return false;
  for (const trace::RankVariable& variable : trace::kRankVariables) {
    const char *size = getenv(variable.size), *rank = getenv(variable.name);
    if (!size || !rank) continue;
    return strtol(size, nullptr, 10) > 1 && !has_variable(maker_of_this(), variable.name, rank);
  }
  return false;
}

}  // namespace

void read_rank_variables() { one_of_several = says_several(); }

bool is_one_of_several() { return one_of_several; }

}  // namespace ddpscope::injector
