#include "collector/commands/pictures.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "collector/commands/exec_words.h"
#include "collector/commands/input_file.h"

extern char** environ;

namespace ddpscope::commands {
namespace {

using reports::Picture;

constexpr std::size_t kMost = 12;

// A folder that ends with this object.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code none;
    std::string name = std::filesystem::temp_directory_path(none) / "ddpscope-XXXXXX";
    if (mkdtemp(name.data())) path_ = name;
  }
  ~ScratchFolder() {
    std::error_code none;
    if (!path_.empty()) std::filesystem::remove_all(path_, none);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }  // empty: it could not be made

 private:
  std::filesystem::path path_;
};

// Its exit code, or what kept it from running. What it says goes to `said`.
int run_quietly(std::vector<std::string> words, const std::string& said) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, said.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  std::vector<char*> arguments = exec_words(words);
  pid_t pid = 0;
  int failed = posix_spawn(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) return kCannotRun;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kCannotRun;
}

// "error: WHAT" of what a command said.
std::string error_line(const std::string& said) {
  constexpr std::string_view kError = "error: ";
  auto text = read_input(said);
  std::size_t begin = text ? text->find(kError) : std::string::npos;
  if (begin == std::string::npos) return "the viewer failed";
  begin += kError.size();
  return text->substr(begin, text->find('\n', begin) - begin);
}

Picture take(const TraceOptions& of, const std::string& id, const std::filesystem::path& folder) {
  const std::string png = folder / "picture.png", said = folder / "said";
  std::filesystem::remove(png);
  std::string trace = std::filesystem::absolute(of.trace);  // no option, whatever it is called
  int code = run_quietly(
      {viewer_program(), trace, "--screenshot", png, "--size", "1600x900", "--theme", "light", "--goto", id},
      said);
  if (code != 0) return {"", error_line(said)};
  auto bytes = read_input(png);
  return bytes ? Picture{std::move(*bytes), ""} : Picture{"", bytes.error().what};
}

std::string why_none(const TraceOptions& of, const ScratchFolder& scratch) {
  if (access(viewer_program().c_str(), X_OK) != 0) return "the viewer is not installed";
  if (of.attempt >= 0) return "the viewer shows the last attempt";
  if (scratch.path().empty()) return "there is no folder for temporary files";
  return "";
}

}  // namespace

std::filesystem::path viewer_program() {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/exe", none).parent_path() / "ddpscope-viewer";
}

std::map<std::string, Picture> take_pictures(const TraceOptions& of,
                                             const std::vector<findings::Finding>& findings) {
  ScratchFolder scratch;
  std::string why = why_none(of, scratch);
  std::map<std::string, Picture> pictures;
  for (const findings::Finding& finding : findings) {
    if (!why.empty())
      pictures[finding.id] = {"", why};
    else if (pictures.size() >= kMost)
      pictures[finding.id] = {"", "of so many findings the first " + std::to_string(kMost) + " have one"};
    else
      pictures[finding.id] = take(of, finding.id, scratch.path());
  }
  return pictures;
}

}  // namespace ddpscope::commands
