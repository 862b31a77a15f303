// Asks by a lock, which network file systems bring to the server; attributes of files may be remembered.
#include "collector/commands/write_back.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "collector/commands/watch_thread.h"
#include "trace/file_systems.h"
#include "trace/format.h"
#include "trace/write/identity.h"

namespace ddpscope::commands {
namespace {

// "ID PARENT DEVICE ROOT MOUNT_POINT OPTIONS [OPTIONAL...] - TYPE SOURCE SUPER_OPTIONS"
bool is_on_shared_storage(const std::filesystem::path& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return false;
  std::string wanted = fmt::format("{}:{}", major(status.st_dev), minor(status.st_dev));
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string id, parent, device, type;
    words >> id >> parent >> device;
    std::size_t separator = line.find(" - ");
    if (device != wanted || separator == line.npos) continue;
    std::istringstream(line.substr(separator + 3)) >> type;
    return trace::is_network_file_system(type);
  }
  return false;
}

struct Traces {
  std::vector<std::filesystem::path> own, of_others;
};

// By host name, with which the names of traces begin.
Traces find_traces(const std::filesystem::path& folder, const std::string& host) {
  Traces found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::string name = at->path().filename().string();
    if (!name.ends_with(trace::kFileSuffix)) continue;
    (name.starts_with(host + '.') ? found.own : found.of_others).push_back(at->path());
  }
  return found;
}

}  // namespace

bool may_be_late(const std::filesystem::path& folder) {
  return is_on_shared_storage(folder) && !find_traces(folder, trace::read_identity().host).of_others.empty();
}

WriteBack::WriteBack(std::filesystem::path folder, const FolderUse& use)
    : folder_(std::move(folder)), use_(use), host_(trace::read_identity().host) {
  if (is_on_shared_storage(folder_))
    thread_ = start_watch_thread([this](const std::stop_token& stop) { serve(stop); });
}

void WriteBack::serve(const std::stop_token& stop) const {
  while (sleep_for(kAskedEach, stop))
    if (use_.is_looked_at()) write_back();
}

// Of several runs on a host each does it: what is written is not written again.
void WriteBack::write_back() const {
  for (const std::filesystem::path& path : find_traces(folder_, host_).own) {
    int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    ::sync_file_range(fd, 0, 0,
                      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    ::close(fd);
  }
}

}  // namespace ddpscope::commands
