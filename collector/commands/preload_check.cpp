// By the program's ELF header; where it has another dynamic linker than ours, that one is asked, which runs
// nothing of the program.
#include "collector/commands/preload_check.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "collector/commands/exec_words.h"
#include "collector/reports/escape.h"

namespace ddpscope::commands {

namespace fs = std::filesystem;

std::optional<std::string> find_program(const std::string& command) {
  if (command.find('/') != std::string::npos) return command;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "/bin:/usr/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string program = (folder.empty() ? "." : folder) + "/" + command;
    std::error_code ignored;
    if (access(program.c_str(), X_OK) == 0 && !fs::is_directory(program, ignored)) return program;
  }
  return std::nullopt;
}

namespace {

constexpr const char* kOwnLinker = "/lib64/ld-linux-x86-64.so.2";
constexpr std::size_t kHead = 4096;   // bytes; the kernel reads 256 of a script
constexpr int kMostInterpreters = 5;  // of interpreters, as the kernel (execve(2))
constexpr int kMostSeconds = 5;       // for the question to a dynamic linker

std::string read_head(const std::string& program) {
  std::ifstream file(program, std::ios::binary);
  std::string head(kHead, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  return head;
}

// Of a script the program that runs it; `env` finds it in PATH.
std::optional<std::string> find_interpreter(const std::string& head) {
  std::istringstream line(head.substr(2, head.find('\n') - 2));
  std::string interpreter, word;
  line >> interpreter;
  if (fs::path(interpreter).filename() != "env") return interpreter;
  while (line >> word)
    if (word[0] != '-' && word.find('=') == std::string::npos) return find_program(word);
  return std::nullopt;
}

// nullopt: linked statically.
std::optional<std::string> find_linker(const std::string& program, const Elf64_Ehdr& header) {
  std::ifstream file(program, std::ios::binary);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + i * sizeof(segment)));
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof(segment))) return std::nullopt;
    if (segment.p_type != PT_INTERP || segment.p_filesz > PATH_MAX) continue;
    std::string linker(segment.p_filesz, '\0');
    file.seekg(static_cast<std::streamoff>(segment.p_offset));
    if (!file.read(linker.data(), static_cast<std::streamsize>(linker.size()))) return std::nullopt;
    return linker.substr(0, linker.find('\0'));
  }
  return std::nullopt;
}

bool changes_its_user(const std::string& program) {
  struct stat status;
  return stat(program.c_str(), &status) == 0 && (status.st_mode & S_ISUID) && status.st_uid != geteuid();
}

// Until the end, or the time is over.
std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> part;
  pollfd waiting{fd, POLLIN, 0};
  while (poll(&waiting, 1, kMostSeconds * 1000) > 0) {
    ssize_t bytes = read(fd, part.data(), part.size());
    if (bytes <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(bytes));
  }
  return text;
}

// What a dynamic linker says against loading the program; nullopt: nothing. It lists what it loads, and runs
// none of it; what it does not find is a line among the others.
std::optional<std::string> objection(const std::string& linker, const std::string& program,
                                     const std::map<std::string, std::string>& changed) {
  int said[2];
  if (pipe2(said, O_CLOEXEC) != 0) return std::nullopt;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  for (int stream : {1, 2}) posix_spawn_file_actions_adddup2(&actions, said[1], stream);
  std::vector<std::string> words{linker, "--list", program}, environment = environment_with(changed);
  pid_t child = 0;
  const int error = posix_spawn(&child, linker.c_str(), &actions, nullptr, exec_words(words).data(),
                                exec_words(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  close(said[1]);
  std::istringstream lines(error ? "" : read_all(said[0]));
  close(said[0]);
  if (error) return std::nullopt;
  kill(child, SIGKILL);  // one that has closed its output has ended, or hangs
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  for (std::string line; std::getline(lines, line);)
    if (line.find("not found") != std::string::npos) return line;
  return std::nullopt;
}

PreloadCheck ask_linker(const std::string& linker, const std::string& program,
                        const std::map<std::string, std::string>& environment) {
  std::error_code ignored;
  if (linker == kOwnLinker || fs::equivalent(linker, kOwnLinker, ignored)) return {};
  auto against = objection(linker, program, environment);
  if (!against || objection(linker, program, {})) return {};
  return {PreloadEffect::kFatal, fmt::format("{}'s dynamic linker cannot load what records: {}",
                                             reports::escape(program), reports::escape(*against))};
}

// Without a question to its linker, which is given. `name` is what a sentence calls the program.
PreloadCheck check_file(const std::string& program, const std::string& head, const std::string& name,
                        std::optional<std::string>& linker) {
  Elf64_Ehdr header{};
  std::memcpy(&header, head.data(), std::min(head.size(), sizeof(header)));
  if (header.e_ident[EI_CLASS] == ELFCLASS32)
    return {PreloadEffect::kNothing, fmt::format("{} is a program of 32 bits", name)};
  if (header.e_machine != EM_X86_64)
    return {PreloadEffect::kNothing, fmt::format("{} is for another processor", name)};
  if (changes_its_user(program))
    return {PreloadEffect::kNothing, fmt::format("{} changes its user, which takes the preload away", name)};
  linker = find_linker(program, header);
  if (linker && fs::path(*linker).filename().string().starts_with("ld-musl"))
    return {PreloadEffect::kFatal,
            fmt::format("{} has musl as its C library, and what records is for glibc", name)};
  if (linker || fs::path(name).filename().string().starts_with("ld-"))
    return {};  // a dynamic linker itself preloads, too
  return {PreloadEffect::kNothing, fmt::format("{} is linked statically", name)};
}

PreloadCheck check_binary(const std::string& program, const std::string& head,
                          const std::map<std::string, std::string>& environment) {
  std::optional<std::string> linker;
  PreloadCheck check = check_file(program, head, reports::escape(program), linker);
  if (check.effect != PreloadEffect::kRecords || !linker) return check;
  return ask_linker(*linker, program, environment);
}

}  // namespace

PreloadCheck check_preload(const std::string& command,
                           const std::map<std::string, std::string>& environment) {
  auto program = find_program(command);
  for (int i = 0; program && i < kMostInterpreters; ++i) {
    const std::string head = read_head(*program);
    if (head.starts_with(ELFMAG)) return check_binary(*program, head, environment);
    if (!head.starts_with("#!")) break;  // the shell's, or nobody's
    program = find_interpreter(head);
  }
  return {};
}

std::string describe_unloadable(const std::string& file, const std::string& name) {
  const std::string head = read_head(file);
  std::optional<std::string> linker;
  return head.starts_with(ELFMAG) ? check_file(file, head, name, linker).why : "";
}

}  // namespace ddpscope::commands
