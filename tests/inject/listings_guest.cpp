// Small programs that list folders, one a trap: `listings_guest TRAP`, as files_guest. The working folder
// lies on a file system that other hosts may see.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "trap.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace {

void say(const char* what, long value) {
  printf("%s %ld\n", what, value);
  fflush(stdout);
}

void fill_folder(int entries = 3) {
  mkdir("listed", 0755);
  for (int i = 0; i < entries; ++i)
    close(creat(("listed/Shard_" + std::to_string(i) + ".bin").c_str(), 0644));
}

// Which end it was is to be told by errno: 0 before, 0 after.
int count(DIR* directory) {
  int entries = 0;
  errno = EXDEV;
  while (readdir(directory)) ++entries;
  say("errno", errno);
  return entries;
}

void by_readdir() {
  fill_folder();
  DIR* directory = opendir("listed");
  say("entries", count(directory));
  closedir(directory);
}

void by_readdir64() {
  fill_folder();
  DIR* directory = opendir("listed");
  int entries = 0;
  while (readdir64(directory)) ++entries;
  say("entries", entries);
  closedir(directory);
}

void by_readdir_r() {
  fill_folder();
  DIR* directory = opendir("listed");
  dirent entry, *result;
  errno = EXDEV;
  while (readdir_r(directory, &entry, &result) == 0 && result) say("length", strlen(entry.d_name) > 2);
  say("errno", errno);
  closedir(directory);
}

void by_readdir64_r() {
  fill_folder();
  DIR* directory = opendir("listed");
  dirent64 entry, *result;
  while (readdir64_r(directory, &entry, &result) == 0 && result) say("length", strlen(entry.d_name) > 2);
  closedir(directory);
}

void by_fdopendir() {
  fill_folder();
  DIR* directory = fdopendir(open("listed", O_RDONLY | O_DIRECTORY));
  say("entries", count(directory));
  closedir(directory);
}

void by_rewinddir() {
  fill_folder();
  DIR* directory = opendir("listed");
  seekdir(directory, telldir(directory));
  rewinddir(directory);
  say("entries", count(directory));
  closedir(directory);
}

void by_scandir() {
  fill_folder();
  dirent** entries;
  say("entries", scandir("listed", &entries, nullptr, alphasort));
}

void by_scandir64() {
  fill_folder();
  dirent64** entries;
  say("entries", scandir64("listed", &entries, nullptr, alphasort64));
}

void by_scandirat() {
  fill_folder();
  dirent** entries;
  say("entries", scandirat(open(".", O_RDONLY | O_DIRECTORY), "listed", &entries, nullptr, alphasort));
}

void by_scandirat64() {
  fill_folder();
  dirent64** entries;
  say("entries", scandirat64(AT_FDCWD, "listed", &entries, nullptr, alphasort64));
}

void by_link() {
  fill_folder();
  const char* link = "../../linked";  // FUSE makes none
  unlink(link);
  say("linked", symlink((std::string(getcwd(nullptr, 0)) + "/listed").c_str(), link));
  DIR* directory = opendir(link);
  say("entries", count(directory));
  closedir(directory);
}

void list() {
  DIR* directory = opendir("listed");
  while (readdir(directory)) {
  }
  closedir(directory);
}

// Fifty times with nothing in between, and once with more in it.
void again() {
  fill_folder();
  for (int i = 0; i < 50; ++i) list();
  fill_folder(40);
  list();
}

// None of these has told what is not there.

void in_part() {
  fill_folder();
  DIR* directory = opendir("listed");
  say("one", readdir(directory) != nullptr);
  closedir(directory);
}

void moved() {
  fill_folder();
  DIR* directory = opendir("listed");
  readdir(directory);
  long second = telldir(directory);
  readdir(directory);
  readdir(directory);
  seekdir(directory, second);
  say("others", count(directory));
  closedir(directory);
}

void from_the_middle() {
  fill_folder();
  DIR* directory = opendir("listed");
  readdir(directory);
  seekdir(directory, telldir(directory));
  int fd = dup(dirfd(directory));
  closedir(directory);
  directory = fdopendir(fd);
  say("others", count(directory) < 5);
  closedir(directory);
}

bool not_first(const char* name) { return !strstr(name, "_0."); }
void filtered() {
  fill_folder();
  dirent** entries;
  say("entries", scandir(
                     "listed", &entries, [](const dirent* entry) -> int { return not_first(entry->d_name); },
                     alphasort));
}

void* read_one(void* directory) { return readdir(static_cast<DIR*>(directory)); }
void by_threads() {
  fill_folder();
  DIR* directory = opendir("listed");
  pthread_t thread;
  pthread_create(&thread, nullptr, read_one, directory);
  pthread_join(thread, nullptr);
  say("others", count(directory));
  closedir(directory);
}

void by_child() {
  fill_folder();
  DIR* directory = opendir("listed");
  readdir(directory);
  if (!fork()) _exit(count(directory) > 9);
  wait(nullptr);
  say("others", count(directory));
  closedir(directory);
}

void past_libc() {
  fill_folder();
  DIR* directory = opendir("listed");
  char entries[1024];
  say("bytes", syscall(SYS_getdents64, dirfd(directory), entries, sizeof(entries)) > 0);
  say("others", count(directory));
  closedir(directory);
}

void past_the_stream() {
  fill_folder();
  DIR* directory = opendir("listed");
  char entries[1024];
  say("bytes", getdents64(dirfd(directory), entries, sizeof(entries)) > 0);
  say("others", count(directory));
  closedir(directory);
}

void too_many() {
  fill_folder(1100);
  DIR* directory = opendir("listed");
  say("entries", count(directory));
  closedir(directory);
}

constexpr Trap kTraps[] = {{"by_readdir", by_readdir},
                           {"by_readdir64", by_readdir64},
                           {"by_readdir_r", by_readdir_r},
                           {"by_readdir64_r", by_readdir64_r},
                           {"by_fdopendir", by_fdopendir},
                           {"by_rewinddir", by_rewinddir},
                           {"by_scandir", by_scandir},
                           {"by_scandir64", by_scandir64},
                           {"by_scandirat", by_scandirat},
                           {"by_scandirat64", by_scandirat64},
                           {"by_link", by_link},
                           {"again", again},
                           {"in_part", in_part},
                           {"moved", moved},
                           {"from_the_middle", from_the_middle},
                           {"filtered", filtered},
                           {"by_threads", by_threads},
                           {"by_child", by_child},
                           {"past_libc", past_libc},
                           {"past_the_stream", past_the_stream},
                           {"too_many", too_many}};

}  // namespace

int main(int argc, char** argv) {
  const Trap* trap = find_trap(kTraps, argc, argv);
  if (!trap) return 2;
  trap->run();
  return 0;
}
