// Small programs that ask for the state of files, or change it, one a trap: `looks_guest TRAP`, as
// files_guest.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#include <string>

#include "trap.h"

namespace {

void say(const char* what, long value) {
  printf("%s %ld\n", what, value);
  fflush(stdout);
}

void fill(const char* path, std::size_t bytes) {
  int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0644);
  std::string data(bytes, 'x');
  say("filled", write(fd, data.data(), data.size()));
  close(fd);
}

// Of a file that another opening makes longer: the end tells, and so does the state.
void asked_for_its_size() {
  fill("grows", 3);
  int fd = open("grows", O_RDONLY), other = open("grows", O_WRONLY | O_APPEND);
  FILE* stream = fopen("grows", "r");
  struct stat state;
  for (int i = 0; i < 4; ++i) lseek(fd, -1, SEEK_END);
  for (int i = 0; i < 5; ++i) fstat(fd, &state);
  (void)!write(other, "xx", 2);
  say("end", lseek(fd, 0, SEEK_END));
  say("size", fstat(fd, &state) == 0 ? state.st_size : -1);
  say("end of stream", fseek(stream, -2, SEEK_END) == 0 ? ftell(stream) : -1);
  say("before the start", lseek(fd, -9, SEEK_END) < 0 ? errno : 0);
  say("of a pipe", pipe(&fd) == 0 && lseek(fd, 0, SEEK_END) < 0 ? errno : 0);
}

void times_set() {
  fill("aged", 1);
  mkdir("inside", 0755);
  int fd = open("aged", O_RDONLY), folder = open("inside", O_RDONLY | O_DIRECTORY);
  timespec then[] = {{1, 0}, {2, 0}};
  timeval before[] = {{3, 0}, {4, 0}};
  utimbuf once{5, 6};
  say("utimensat", utimensat(AT_FDCWD, "aged", then, 0));
  say("futimens", futimens(fd, then));
  say("utimes", utimes("aged", before));
  say("futimes", futimes(fd, before));
  say("lutimes", lutimes("aged", before));
  say("utime", utime("aged", &once));
  say("below", utimensat(folder, "../aged", nullptr, 0));
  say("futimesat", futimesat(folder, "../aged", before));
  say("no such", utimensat(AT_FDCWD, "absent", then, 0) < 0 ? errno : 0);
  const char* volatile nowhere = nullptr;
  say("no path", utimensat(fd, nowhere, then, 0) < 0 ? errno : 0);
  struct stat state;
  stat("aged", &state);
  say("time", state.st_mtime);
}

// Which file it was, and which folder.
void found_by_links() {
  mkdir("folder", 0755);
  mkdirat(AT_FDCWD, "folder/inner", 0755);
  fill("folder/file", 1);
  symlink("folder", "linked");
  say("access", access("linked/file", R_OK));
  say("faccessat", faccessat(AT_FDCWD, "linked/inner", R_OK, 0));
  say("absent", access("linked/absent", R_OK) < 0 ? errno : 0);
  DIR* directory = opendir("linked/inner");
  closedir(directory);
  closedir(opendir("folder/inner"));
}

constexpr Trap kTraps[] = {
    {"asked_for_its_size", asked_for_its_size}, {"times_set", times_set}, {"found_by_links", found_by_links}};

}  // namespace

int main(int argc, char** argv) {
  const Trap* trap = find_trap(kTraps, argc, argv);
  if (!trap) return 2;
  trap->run();
  return 0;
}
