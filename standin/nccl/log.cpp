// Messages to standard error, one write each, so that the lines of several ranks do not mix.
#include "standin/nccl/log.h"

#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>

namespace ddpscope::standin::nccl {
namespace {

using ErrorText = std::array<char, 1024>;
constinit ErrorText latest{};
constinit std::mutex latest_mutex;

enum class Level : int { kUnread, kSilent, kWarnings, kEverything };
constinit std::atomic<Level> level{Level::kUnread};

Level read_level() {
  const char* wanted = std::getenv("NCCL_DEBUG");
  if (!wanted) return Level::kSilent;
  for (const char* verbose : {"INFO", "ABORT", "TRACE"}) {
    if (strcasecmp(wanted, verbose) == 0) return Level::kEverything;
  }
  return strcasecmp(wanted, "WARN") == 0 ? Level::kWarnings : Level::kSilent;
}

Level current_level() {
  Level current = level.load(std::memory_order_relaxed);
  if (current == Level::kUnread) level.store(current = read_level(), std::memory_order_relaxed);
  return current;
}

void print(const std::string& message, const char* kind = "WARN") {
  char host[64] = "";
  gethostname(host, sizeof host - 1);
  const std::string line = std::string(host) + ":" + std::to_string(getpid()) + ":" +
                           std::to_string(syscall(SYS_gettid)) + " NCCL " + kind + " " + message + "\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

void warn(const std::string& message) {
  {
    std::lock_guard lock(latest_mutex);
    latest[message.copy(latest.data(), latest.size() - 1)] = '\0';
  }
  if (current_level() >= Level::kWarnings) print(message);
}

void inform(const std::string& message) {
  if (current_level() >= Level::kEverything) print(message, "INFO");
}

void say(const std::string& message) { print(message); }

const char* last_error() {
  static thread_local constinit ErrorText copy{};
  std::lock_guard lock(latest_mutex);
  copy = latest;
  return copy.data();
}

void reset_log_level() { level.store(Level::kUnread, std::memory_order_relaxed); }

}  // namespace ddpscope::standin::nccl
