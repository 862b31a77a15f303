// Before a job starts: what the preload does to its first program. What that one starts is not known yet.
#pragma once
#include <map>
#include <optional>
#include <string>

namespace ddpscope::commands {

// The file that execvp() would start; nothing: there is none.
std::optional<std::string> find_program(const std::string& command);

enum class PreloadEffect {
  kRecords,
  kNothing,  // it starts, and nothing of it is recorded; what it starts may be
  kFatal,    // it would not start
};

struct PreloadCheck {
  PreloadEffect effect = PreloadEffect::kRecords;
  std::string why;  // "/bin/busybox is linked statically"
};

// `command` as execvp() takes it, scripts by their interpreters; `environment`: what `run` changes in the
// job's. A command that cannot be started, or read, is left to who starts it.
PreloadCheck check_preload(const std::string& command, const std::map<std::string, std::string>& environment);

// Why the preload does nothing to a program that runs already, as far as its file (/proc/PID/exe) says:
// "NAME is linked statically". Empty: the file does not stand against it, or cannot be read.
std::string describe_unloadable(const std::string& file, const std::string& name);

}  // namespace ddpscope::commands
