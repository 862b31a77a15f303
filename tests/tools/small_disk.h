// A disk that fills, and a process of its own to try it in.
#pragma once
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace ddpscope::tests {

constexpr int kNotAllowed = 77;  // exit code of who cannot have a disk of its own

// Runs `body` in a child process and returns its exit code, or 128 and the signal that ended it.
template <class Body>
int exit_code_of(Body&& body) {
  pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

inline void write_file(const char* path, const std::string& content) { std::ofstream(path) << content; }

// A tmpfs of `size` on `folder` that only this process sees; false: not allowed here.
inline bool mount_small_disk(const std::filesystem::path& folder, const char* size) {
  uid_t uid = getuid();
  gid_t gid = getgid();
  if (unshare(CLONE_NEWNS | (uid ? CLONE_NEWUSER : 0)) != 0) return false;
  if (uid) {
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1");
    write_file("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1");
  }
  return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", folder.c_str(), "tmpfs", 0, size) == 0;
}

}  // namespace ddpscope::tests
