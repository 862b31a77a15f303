// Allocates in threads and in forked children, and writes files. "forks-alone": no other thread allocates
// while it forks.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 4;
constexpr std::size_t kBlocks = 2000;

void allocate() {
  std::vector<std::string> blocks;
  for (std::size_t i = 0; i < kBlocks; ++i) blocks.emplace_back(i * 7 % 5000 + 1, 'x');
  for (std::size_t i = 0; i < kBlocks; ++i)
    if (blocks[i].size() != i * 7 % 5000 + 1 || blocks[i].back() != 'x') std::abort();
}

void allocate_in_threads() {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(allocate);
  for (std::thread& thread : threads) thread.join();
}

void write_file(const char* path) {
  int file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
  if (file < 0 || write(file, path, std::strlen(path)) < 0 || close(file) != 0) std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  std::thread busy(allocate_in_threads);  // holds the allocator's locks now and then
  if (argc > 1 && std::strcmp(argv[1], "forks-alone") == 0) busy.join();
  for (int i = 0; i < 3; ++i) {
    pid_t child = fork();
    if (child == 0) {
      allocate_in_threads();
      write_file("of-child");
      std::exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) std::abort();
  }
  if (busy.joinable()) busy.join();
  write_file("of-parent");
}
