// Small programs on files, one a trap: `files_guest TRAP` works in the current folder and prints what libc
// told it, so that runs with and without the preload can be compared.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "trap.h"

namespace {

void say(const char* what, long value) {
  printf("%s %ld\n", what, value);
  fflush(stdout);
}

int create(const char* path) { return open(path, O_CREAT | O_RDWR | O_TRUNC, 0644); }

void fill(const char* path, std::size_t bytes) {
  int fd = create(path);
  std::string data(bytes, 'x');
  say("filled", write(fd, data.data(), data.size()));
  close(fd);
}

void mode_argument() {
  umask(0);
  struct stat state;
  close(open("made", O_CREAT | O_WRONLY, 0640));
  stat("made", &state);
  say("mode", state.st_mode & 0777);
  say("no mode", open("absent", O_RDONLY) == -1 ? errno : 0);
  int fd = open(".", O_TMPFILE | O_RDWR, 0600);
  fstat(fd, &state);
  say("tmpfile mode", state.st_mode & 0777);
}

void error_numbers() {
  say("no such", open("no/such", O_RDONLY) < 0 ? errno : 0);
  const char* volatile nowhere = nullptr;
  say("bad address", open(nowhere, O_RDONLY) < 0 ? errno : 0);
  say("bad descriptor", close(99) < 0 ? errno : 0);
  errno = 77;
  fill("kept", 10);
  say("untouched", errno);
  say("busy", rename(".", "kept") < 0 ? errno : 0);
}

void folded_writes() {
  int fd = create("log");
  for (int i = 0; i < 1000; ++i) (void)!write(fd, "0123456789", 10);
  lseek(fd, 50, SEEK_SET);
  (void)!write(fd, "ab", 2);
  close(fd);
}

void duplicates() {
  int fd = create("dup");
  int second = dup(fd);
  int third = fcntl(fd, F_DUPFD, 40);
  (void)!write(fd, "aaaa", 4);
  (void)!write(second, "bbbb", 4);
  (void)!write(third, "cccc", 4);
  dup2(fd, 50);
  close(fd);
  (void)!write(50, "dddd", 4);
  close(50), close(second), close(third);
}

// The number is another file's once it was closed, whoever closed it.
void reused_number() {
  int fd = create("first");
  (void)!write(fd, "1", 1);
  close_range(fd, fd, 0);
  int again = create("second");
  (void)!write(again, "22", 2);
  say("same number", again == fd);
  close(again);
}

void append() {
  int fd = open("appended", O_CREAT | O_WRONLY | O_APPEND, 0644);
  (void)!write(fd, "abc", 3);
  close(fd);
}

// Two openings of one file, and several descriptors of one of them.
void appended_by_turns() {
  int one = open("turns", O_CREAT | O_WRONLY | O_APPEND, 0644), other = open("turns", O_WRONLY);
  fcntl(other, F_SETFL, O_APPEND);
  iovec parts[2] = {{const_cast<char*>("d"), 1}, {const_cast<char*>("ee"), 2}};
  (void)!write(one, "aaa", 3), (void)!write(other, "bb", 2), (void)!write(one, "c", 1);
  say("writev", writev(dup(one), parts, 2));
  say("at", lseek(one, 0, SEEK_CUR));
  (void)!write(other, "ff", 2);
}

void* append_many(void* fd) {
  for (int i = 0; i < 2000; ++i) (void)!write(*static_cast<int*>(fd), "0123456789", 3 + i % 5);
  return nullptr;
}
void appended_by_threads() {
  int fd = open("shared", O_CREAT | O_WRONLY | O_APPEND, 0644);
  (void)!write(fd, "first", 5);
  pthread_t threads[2];
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, append_many, &fd);
  for (pthread_t& thread : threads) pthread_join(thread, nullptr);
  (void)!write(fd, "last", 4);
  say("bytes", lseek(fd, 0, SEEK_END));
}

// What a child has of its parent's, a write at its own end, what stdio holds back: nobody knows where it is.
void appended_somewhere() {
  int fd = open("family", O_CREAT | O_WRONLY | O_APPEND, 0644);
  (void)!write(fd, "a", 1);
  if (pid_t child = fork()) {
    waitpid(child, nullptr, 0);
  } else {
    (void)!write(fd, "bb", 2);
    _exit(0);
  }
  (void)!write(fd, "ccc", 3);
  iovec part{const_cast<char*>("dd"), 2};
  int told = create("told");
  say("pwritev2", pwritev2(told, &part, 1, 0, RWF_APPEND));
  FILE* stream = fopen("held", "a");
  fwrite("eeee", 1, 4, stream), fclose(stream);
}

// The end is found, and found again, and then there is more; who asks for nothing finds no end.
void read_to_the_end() {
  fill("grows", 6);
  char back[8];
  int fd = open("grows", O_RDONLY), more = open("grows", O_WRONLY | O_APPEND);
  (void)!read(fd, back, 0), (void)!read(fd, back, 4), (void)!read(fd, back, 0), (void)!read(fd, back, 4);
  for (int i = 0; i < 3; ++i) (void)!read(fd, back, 4);
  (void)!write(more, "yy", 2);
  say("more", read(fd, back, 4));
}

void vectors() {
  int fd = create("vector");
  iovec parts[2] = {{const_cast<char*>("abc"), 3}, {const_cast<char*>("defgh"), 5}};
  say("writev", writev(fd, parts, 2));
  say("pwritev2", pwritev2(fd, parts, 2, -1, 0));
  char back[16];
  iovec room{back, sizeof(back)};
  say("preadv", preadv(fd, &room, 1, 4));
  close(fd);
}

void streams() {
  FILE* stream = fopen64("stream", "w+");
  double numbers[1000] = {1.5};
  say("fwrite", static_cast<long>(fwrite(numbers, sizeof(double), 1000, stream)));
  fprintf(stream, "%d\n", 12345);
  rewind(stream);
  say("fread", static_cast<long>(fread(numbers, sizeof(double), 10, stream)));
  fclose(stream);
  int fd = create("given");
  stream = fdopen(dup(fd), "w");
  fwrite("abcd", 1, 4, stream);
  fclose(stream);
  close(fd);
}

void names() {
  mkdir("folder", 0755);
  int folder = open("folder", O_RDONLY | O_DIRECTORY);
  int fd = openat(folder, "inner", O_CREAT | O_WRONLY, 0644);
  close(fd);
  renameat(folder, "inner", AT_FDCWD, "outer");
  say("chdir", chdir("folder"));
  rename("../outer", "./back");
  link("back", "linked");
  symlink("linked", "symbolic");
  unlinkat(folder, "back", 0);
  unlink("linked"), remove("symbolic");
  chdir("..");
  close(folder);
  say("rmdir", rmdir("folder"));
  char pattern[] = "tmpXXXXXX";
  say("mkstemp", mkstemp(pattern) >= 0);
  unlink(pattern);
}

// The system call itself, as programs in Rust make it.
long rename_past_libc(const char* from, const char* to) {
#ifdef __x86_64__
  long result;
  asm volatile("syscall" : "=a"(result) : "a"(SYS_rename), "D"(from), "S"(to) : "rcx", "r11", "memory");
  return result;
#else
  register const char* x1 asm("x1") = from;
  register const char* x3 asm("x3") = to;
  register long x0 asm("x0") = AT_FDCWD, x2 asm("x2") = AT_FDCWD, x4 asm("x4") = 0,
                   x8 asm("x8") = SYS_renameat2;
  asm volatile("svc 0" : "+r"(x0) : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x8) : "memory");
  return x0;
#endif
}

int create_new(const char* name) {
  int fd = open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
  (void)!write(fd, name, 4);
  return fd;
}

void renamed_past_libc() {
  for (const char* name : {"new1", "new2"}) {  // twice to the same name
    int fd = create_new(name);
    say(name, rename_past_libc(name, "model"));
    close(dup(fd)), close(fd);
  }
  char pattern[] = "tmpXXXXXX";
  int temporary = mkstemp(pattern);
  say("mkstemp", rename_past_libc(pattern, "kept"));
  close(temporary);
  // Those that need no help: seen by a hook, gone, never renamed, in a folder that was.
  int seen = create_new("new3");
  rename("new3", "model");
  close(seen);
  int gone = create_new("new4");
  unlink("new4");
  close(gone);
  close(create_new("new5"));
  mkdir("before", 0755);
  int inner = create_new("before/new6");
  rename("before", "after");
  close(inner);
}

void polling() {
  fill("weight", 1);
  struct stat state;
  for (int i = 0; i < 5; ++i) stat("marker", &state);
  for (int i = 0; i < 4; ++i) open("marker", O_RDONLY);
  fill("marker", 1);
  say("found", stat("marker", &state));
  say("access", access("marker", R_OK));
  say("statx", syscall(SYS_statx, AT_FDCWD, "marker", 0, STATX_ALL, calloc(1, 512)));
}

// Until looks at so many other names that each is a record have filled a chunk, which is then moved to its
// place in the file.
void polling_for_long() {
  fill("weight", 1);
  struct stat state;
  auto look_elsewhere = [&](int i) { stat(std::to_string(i % 100).c_str(), &state); };
  for (int i = 0; i < 9000; ++i) stat("marker", &state), look_elsewhere(i);
  for (int i = 0; i < 9000; ++i) open("marker", O_RDONLY), look_elsewhere(i);
}

extern "C" int __xstat(int, const char*, struct stat*);
void old_stat() {
  fill("weight", 1);
  struct stat state;
  say("__xstat", __xstat(1, ".", &state));
}

void listing() {
  mkdir("listed", 0755);
  fill("listed/a", 1), fill("listed/b", 1);
  DIR* directory = opendir("listed");
  int entries = 0;
  while (readdir(directory)) ++entries;
  say("entries", entries);
  closedir(directory);
}

void transfers() {
  fill("from", 5000);
  int from = open("from", O_RDONLY), to = create("to");
  say("sendfile", sendfile(to, from, nullptr, 2000));
  say("copy_file_range", copy_file_range(from, nullptr, to, nullptr, 3000, 0));
  say("by number", syscall(SYS_pread64, from, calloc(1, 16), 16, 100));
  close(from), close(to);
}

void mappings() {
  fill("mapped", 8192);
  int fd = open("mapped", O_RDWR);
  char* bytes = static_cast<char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  bytes[5] = 'y';
  say("msync", msync(bytes, 8192, MS_SYNC));
  munmap(bytes, 8192);
  ftruncate(fd, 100), fsync(fd), posix_fallocate(fd, 0, 200);
  close(fd);
}

void locks() {
  int fd = create("lock");
  say("flock", flock(fd, LOCK_EX));
  struct flock range {};
  range.l_type = F_WRLCK;
  say("fcntl", fcntl(fd, F_SETLK, &range));
  close(fd);
}

// A loader worker reads more files than are kept, all of them written by the rank that forked it.
void further_reads() {
  char name[16];
  for (int i = 0; i < 10010; ++i) {
    snprintf(name, sizeof(name), "%d", i);
    int fd = create(name);
    (void)!write(fd, "sample", 6);
    close(fd);
  }
  if (!fork()) {
    for (int i = 0; i < 10010; ++i) {
      snprintf(name, sizeof(name), "%d", i);
      int fd = open(name, O_RDONLY);
      (void)!read(fd, name, sizeof(name));
      close(fd);
    }
    _exit(0);
  }
  wait(nullptr);
}

void ignored() {
  close(open("/dev/null", O_WRONLY));
  mkdir("__pycache__", 0755);
  fill("__pycache__/module.pyc", 100);
}

volatile int closed_in_handler = -1;
void on_signal(int) { close(closed_in_handler); }
void close_in_handler() {
  closed_in_handler = create("handled");
  signal(SIGUSR1, on_signal);
  raise(SIGUSR1);
  int again = create("after");
  say("same number", again == closed_in_handler);
  (void)!write(again, "zz", 2);
  close(again);
}

void* blocked_read(void* fd) {
  char byte;
  (void)!read(*static_cast<int*>(fd), &byte, 1);
  return nullptr;
}
// A thread cancelled inside a read does not blind the process.
void cancelled() {
  int ends[2];
  (void)!pipe(ends);
  pthread_t thread;
  pthread_create(&thread, nullptr, blocked_read, &ends[0]);
  usleep(20000);
  pthread_cancel(thread);
  void* result;
  pthread_join(thread, &result);
  say("cancelled", result == PTHREAD_CANCELED);
  fill("still", 3);
}

void digest() {
  std::string data(1 << 20, '\0');
  unsigned state = 1;
  for (char& c : data) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  auto in_pieces = [&](const char* path, const std::string& header, std::size_t piece) {
    int fd = create(path);
    (void)!write(fd, header.data(), header.size());
    for (std::size_t at = 0; at < data.size(); at += piece)
      (void)!write(fd, data.data() + at, std::min(piece, data.size() - at));
    close(fd);
  };
  in_pieces("whole", "header", data.size());
  in_pieces("pieces", "a longer header", 65536);
  // As torch.save writes: all in one call, the archive's name in front of each tensor.
  for (const char* path : {"archive-0", "archive-1"}) {
    std::string header(192, '.');
    header.replace(0, strlen(path), path);
    constexpr std::size_t kTensor = 16384;
    std::vector<iovec> parts;
    for (std::size_t at = 0; at < 24 * kTensor; at += kTensor) {
      parts.push_back({header.data(), header.size()});
      parts.push_back({data.data() + at, kTensor});
    }
    int fd = create(path);
    (void)!writev(fd, parts.data(), static_cast<int>(parts.size()));
    close(fd);
  }
  data.assign(1 << 20, '\0');
  in_pieces("zeros", "", 65536);
}

constexpr Trap kTraps[] = {{"mode_argument", mode_argument},
                           {"error_numbers", error_numbers},
                           {"folded_writes", folded_writes},
                           {"duplicates", duplicates},
                           {"reused_number", reused_number},
                           {"append", append},
                           {"appended_by_turns", appended_by_turns},
                           {"appended_by_threads", appended_by_threads},
                           {"appended_somewhere", appended_somewhere},
                           {"read_to_the_end", read_to_the_end},
                           {"vectors", vectors},
                           {"streams", streams},
                           {"names", names},
                           {"renamed_past_libc", renamed_past_libc},
                           {"polling", polling},
                           {"polling_for_long", polling_for_long},
                           {"old_stat", old_stat},
                           {"listing", listing},
                           {"transfers", transfers},
                           {"mappings", mappings},
                           {"locks", locks},
                           {"further_reads", further_reads},
                           {"ignored", ignored},
                           {"close_in_handler", close_in_handler},
                           {"cancelled", cancelled},
                           {"digest", digest}};

}  // namespace

int main(int argc, char** argv) {
  const Trap* trap = find_trap(kTraps, argc, argv);
  if (!trap) return 2;
  trap->run();
  return 0;
}
