// Messages to standard error, one write each, so that the lines of several ranks do not mix.
#include "standin/nccl/log.h"

#include <strings.h>
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

enum class Level : int { kUnread, kSilent, kWarnings };
constinit std::atomic<Level> level{Level::kUnread};

Level read_level() {
  const char* wanted = std::getenv("NCCL_DEBUG");
  if (!wanted) return Level::kSilent;
  for (const char* verbose : {"WARN", "INFO", "ABORT", "TRACE"}) {
    if (strcasecmp(wanted, verbose) == 0) return Level::kWarnings;
  }
  return Level::kSilent;
}

void print(const std::string& message) {
  char host[64] = "";
  gethostname(host, sizeof host - 1);
  const std::string line = std::string(host) + ":" + std::to_string(getpid()) + ":" +
                           std::to_string(gettid()) + " NCCL WARN " + message + "\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

void warn(const std::string& message) {
  {
    std::lock_guard lock(latest_mutex);
    latest[message.copy(latest.data(), latest.size() - 1)] = '\0';
  }
  Level current = level.load(std::memory_order_relaxed);
  if (current == Level::kUnread) level.store(current = read_level(), std::memory_order_relaxed);
  if (current == Level::kWarnings) print(message);
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
