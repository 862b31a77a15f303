// maps, environ, exe, status, root and ns/mnt of /proc/PID; any of them may be gone at the next read.
#include "collector/commands/process_sight.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>

#include "collector/commands/preload_check.h"
#include "collector/reports/escape.h"
#include "trace/write/process_stat.h"

namespace ddpscope::commands {
namespace {

namespace fs = std::filesystem;

class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  ~OpenFile() {
    if (fd_ >= 0) close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

std::string proc_file(std::int32_t pid, const char* file) { return fmt::format("/proc/{}/{}", pid, file); }

// errno, 0: all of it was read.
int read_whole(const std::string& path, std::string& text) {
  OpenFile file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd() < 0) return errno;
  char part[16 * 1024];
  for (;;) {
    ssize_t bytes = read(file.fd(), part, sizeof(part));
    if (bytes == 0) return 0;
    if (bytes < 0 && errno != EINTR) return errno;
    if (bytes > 0) text.append(part, static_cast<std::size_t>(bytes));
  }
}

std::string program_of(std::int32_t pid) {
  std::error_code gone;
  std::string program = fs::read_symlink(proc_file(pid, "exe"), gone).string();
  constexpr std::string_view kDeleted = " (deleted)";
  if (program.ends_with(kDeleted)) program.resize(program.size() - kDeleted.size());
  return program;
}

struct Credentials {
  std::uint32_t user = 0, group = 0;  // effective
  std::vector<std::uint32_t> groups;

  bool may(const struct stat& file, unsigned bits) const {
    constexpr unsigned kOwners = 6, kGroups = 3;
    unsigned mode = file.st_mode;
    if (file.st_uid == user)
      mode >>= kOwners;
    else if (file.st_gid == group || std::find(groups.begin(), groups.end(), file.st_gid) != groups.end())
      mode >>= kGroups;
    return (mode & bits) == bits;
  }
};

Credentials credentials_of(std::int32_t pid) {
  Credentials found;
  std::ifstream status(proc_file(pid, "status"));
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string key;
    std::uint32_t real = 0;
    words >> key;
    if (key == "Uid:") words >> real >> found.user;
    if (key == "Gid:") words >> real >> found.group;
    if (key == "Groups:")
      for (std::uint32_t group = 0; words >> group;) found.groups.push_back(group);
  }
  return found;
}

// By the bits of modes, for who is not root. What cannot be looked at is taken for allowed.
bool may_reach(const Credentials& who, const fs::path& path, unsigned bits) {
  if (who.user == 0 || who.user == geteuid()) return true;
  for (fs::path at = path; !at.empty(); at = at.parent_path()) {
    struct stat found {};
    if (stat(at.c_str(), &found) == 0 && !who.may(found, at == path ? bits : X_OK)) return false;
    if (at == at.root_path()) break;
  }
  return true;
}

// False also where that cannot be seen.
bool has_our_root(std::int32_t pid) {
  auto same = [&](const char* link) {
    std::error_code hidden, none;
    fs::path its = fs::read_symlink(proc_file(pid, link), hidden);
    return hidden || its == fs::read_symlink(fmt::format("/proc/self/{}", link), none);
  };
  return same("ns/mnt") && same("root");
}

// Below its root, as the process itself would find it. -1: errno has the reason.
int open_below(int root, const fs::path& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT;
  return static_cast<int>(syscall(__NR_openat2, root, path.c_str(), &how, sizeof(how)));
}

bool lacks_file(int error) { return error == ENOENT || error == ENOTDIR; }

Obstacle obstacle_in_root(std::int32_t pid, const RecordingNeeds& needs, bool loaded) {
  OpenFile root(open(proc_file(pid, "root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (root.fd() < 0) return Obstacle::kNone;
  if (!loaded) {
    OpenFile library(open_below(root.fd(), needs.library));
    if (library.fd() < 0 && lacks_file(errno)) return Obstacle::kNoLibrary;
  }
  OpenFile folder(open_below(root.fd(), needs.folder));
  if (folder.fd() < 0) return lacks_file(errno) ? Obstacle::kNoFolder : Obstacle::kNone;
  struct stat there {
  }, ours{};
  if (fstat(folder.fd(), &there) == 0 && stat(needs.folder.c_str(), &ours) == 0 &&
      (there.st_dev != ours.st_dev || there.st_ino != ours.st_ino))
    return Obstacle::kOtherFolder;
  struct statvfs mount {};
  bool read_only = fstatvfs(folder.fd(), &mount) == 0 && (mount.f_flag & ST_RDONLY);
  return read_only ? Obstacle::kReadOnlyFolder : Obstacle::kNone;
}

std::optional<std::string_view> find_variable(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    std::string_view variable = environment.substr(0, environment.find('\0'));
    if (variable.starts_with(name) && variable.substr(name.size()).starts_with('='))
      return variable.substr(name.size() + 1);
    environment.remove_prefix(std::min(variable.size() + 1, environment.size()));
  }
  return std::nullopt;
}

// Of a process that has loaded the library without the variable, its title was written over its environment.
Obstacle judge_environment(std::string_view environment, const RecordingNeeds& needs, bool loaded) {
  auto preload = find_variable(environment, "LD_PRELOAD");
  if (!preload || preload->find(needs.library) == std::string_view::npos) {
    if (loaded) return Obstacle::kNone;
    return preload && !preload->empty() ? Obstacle::kOtherPreload : Obstacle::kNoPreload;
  }
  auto trace = find_variable(environment, "DDPSCOPE_TRACE");
  if (!trace || trace->empty()) return Obstacle::kNoTrace;
  auto disable = find_variable(environment, "DDPSCOPE_DISABLE");
  return disable && !disable->empty() && *disable != "0" ? Obstacle::kDisabled : Obstacle::kNone;
}

bool has_mapped(std::int32_t pid, const RecordingNeeds& needs) {
  std::string maps;
  read_whole(proc_file(pid, "maps"), maps);
  return maps.find("/" + fs::path(needs.library).filename().string()) != std::string::npos;
}

// Of one that has what it needs in its environment.
Obstacle obstacle_around(std::int32_t pid, const Credentials& who, const RecordingNeeds& needs, bool loaded) {
  Obstacle found = has_our_root(pid) ? Obstacle::kNone : obstacle_in_root(pid, needs, loaded);
  if (found != Obstacle::kNone) return found;
  if (!loaded && !may_reach(who, needs.library, R_OK)) return Obstacle::kForbiddenLibrary;
  return may_reach(who, needs.folder, W_OK | X_OK) ? Obstacle::kNone : Obstacle::kForbiddenFolder;
}

// nullopt: its environment is not there yet, or no more.
std::optional<Obstacle> obstacle_in_environment(std::int32_t pid, const RecordingNeeds& needs, bool loaded) {
  std::string environment;
  const int error = read_whole(proc_file(pid, "environ"), environment);
  if (error == EACCES || error == EPERM) return Obstacle::kHidden;
  if (error || !trace::ProcessStat(pid).field(trace::ProcessStat::kEnvironmentEnd)) return std::nullopt;
  return judge_environment(environment, needs, loaded);
}

}  // namespace

std::optional<ProcessSight> see_process(std::int32_t pid, const RecordingNeeds& needs,
                                        const std::string& was_loaded) {
  using trace::ProcessStat;
  ProcessSight sight{};
  ProcessStat stat(pid);
  if (!stat.state() || stat.is_dead()) return std::nullopt;
  sight.parent = static_cast<std::int32_t>(stat.field(ProcessStat::kParentPid));
  sight.cpu_ticks = stat.field(ProcessStat::kUserTime) + stat.field(ProcessStat::kSystemTime);
  sight.name = name_of_process(pid);
  sight.program = program_of(pid);
  const Credentials who = credentials_of(pid);
  sight.user = who.user;
  sight.loaded = (!sight.program.empty() && sight.program == was_loaded) || has_mapped(pid, needs);
  auto obstacle = obstacle_in_environment(pid, needs, sight.loaded);
  if (obstacle == Obstacle::kNone && !sight.loaded)
    sight.unloadable = describe_unloadable(proc_file(pid, "exe"),
                                           fmt::format("{} ({})", reports::escape(sight.program), pid));
  if (!sight.unloadable.empty())
    obstacle = Obstacle::kProgram;
  else if (obstacle == Obstacle::kNone)
    obstacle = obstacle_around(pid, who, needs, sight.loaded);
  if (!obstacle || program_of(pid) != sight.program) return std::nullopt;
  if (sight.program.empty()) sight.program = sight.name;
  sight.obstacle = *obstacle;
  return sight;
}

std::string name_of_process(std::int32_t pid) {
  std::ifstream file(proc_file(pid, "comm"));
  std::string name;
  std::getline(file, name);
  return name.empty() ? "?" : name;
}

std::vector<std::int32_t> children_of(std::int32_t pid) {
  std::vector<std::int32_t> found;
  std::error_code gone;
  fs::directory_iterator tasks(proc_file(pid, "task"), gone), end;
  for (; !gone && tasks != end; tasks.increment(gone)) {
    std::ifstream children(tasks->path() / "children");
    for (std::int32_t child = 0; children >> child;) found.push_back(child);
  }
  return found;
}

}  // namespace ddpscope::commands
