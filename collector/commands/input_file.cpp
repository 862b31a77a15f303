#include "collector/commands/input_file.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace ddpscope::commands {
namespace {

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

Error cannot_read(const std::string& path, int error) {
  return {std::string("cannot read it: ") + std::strerror(error), path, ""};
}

// Until there is something to read, or the end. A process that has the pipe open may take as long as it
// wants, but one has to open it. False: none does.
bool wait_for_writer(int fd, bool is_open) {
  constexpr int kLongestMs = 2000;
  pollfd pipe{fd, POLLIN, 0};
  int ready;
  do ready = ::poll(&pipe, 1, is_open ? -1 : kLongestMs);
  while (ready < 0 && errno == EINTR);
  return ready != 0;
}

}  // namespace

Result<std::string> read_input(const std::string& path) {
  constexpr std::size_t kMost = std::size_t{64} << 20;
  // A pipe with a name that nobody writes to would hold the open, and then the read, for ever.
  Descriptor file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
  if (file.fd < 0) return cannot_read(path, errno);
  std::error_code unknown;
  bool awaits_writer = std::filesystem::is_fifo(path, unknown);
  std::string text;
  char part[1 << 16];
  for (;;) {
    ssize_t got = ::read(file.fd, part, sizeof(part));
    if (got > 0) {
      text.append(part, static_cast<std::size_t>(got));
      if (text.size() > kMost) return Error{"it is larger than 64 MiB", path, ""};
    } else if (got == 0 && !awaits_writer) {
      return text;
    } else if (got == 0 || errno == EAGAIN) {
      if (!wait_for_writer(file.fd, got < 0))
        return Error{"cannot read it: no process writes to this pipe", path, ""};
    } else if (errno != EINTR) {
      return cannot_read(path, errno);
    }
    awaits_writer = false;
  }
}

std::string_view without_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

}  // namespace ddpscope::commands
