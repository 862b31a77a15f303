// Two files of /proc, and a line in a counter.
#include "collector/commands/memory_cgroups.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

namespace ddpscope::commands {
namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

bool has_word(const std::string& list, std::string_view word) {
  std::vector<std::string> words = split(list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The line "oom_kill N" of either file.
std::optional<std::uint64_t> read_kills(const std::string& file) {
  std::ifstream in(file);
  std::string name;
  for (std::uint64_t count = 0; in >> name >> count;)
    if (name == "oom_kill") return count;
  return std::nullopt;
}

}  // namespace

// proc(5): ID PARENT MAJOR:MINOR ROOT AT OPTIONS TAGS... - TYPE SOURCE SUPER_OPTIONS.
MemoryCgroups::MemoryCgroups() {
  std::ifstream in("/proc/self/mountinfo");
  for (std::string line; std::getline(in, line);) {
    std::size_t dash = line.find(" - ");
    std::vector<std::string> words = split(line, ' ');
    if (dash == std::string::npos || words.size() < 6) continue;
    std::vector<std::string> behind = split(line.substr(dash + 3), ' ');
    if (behind.size() < 3) continue;
    bool unified = behind[0] == "cgroup2";
    if (unified || (behind[0] == "cgroup" && has_word(behind[2], "memory")))
      mounts_.push_back({unified, words[3], words[4]});
  }
}

// cgroups(7): HIERARCHY:CONTROLLERS:PATH, no controllers in v2.
std::string MemoryCgroups::counter_of(std::int32_t pid) const {
  std::ifstream in("/proc/" + std::to_string(pid) + "/cgroup");
  for (std::string line; std::getline(in, line);) {
    std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    for (const Mount& mount : mounts_) {
      bool same = mount.unified ? controllers.empty() : has_word(controllers, "memory");
      std::string root = mount.root == "/" ? "" : mount.root;
      if (!same || !path.starts_with(root)) continue;
      std::string file =
          mount.at + path.substr(root.size()) + (mount.unified ? "/memory.events" : "/memory.oom_control");
      if (read_kills(file)) return file;
    }
  }
  return "";
}

void MemoryKills::meet(std::int32_t pid, std::uint64_t start_time) {
  std::string file = cgroups_.counter_of(pid);
  if (file.empty()) return;
  std::uint64_t now = read_kills(file).value_or(0);
  counters_.try_emplace(file, Counter{now, now, 0});
  counter_of_process_[{pid, start_time}] = file;
}

std::uint32_t MemoryKills::look(std::int32_t pid, std::uint64_t start_time) {
  auto file = counter_of_process_.find({pid, start_time});
  if (file == counter_of_process_.end()) return 0;
  Counter& counter = counters_.at(file->second);
  counter.last = std::max(counter.last, read_kills(file->second).value_or(counter.last));
  std::uint64_t killed = counter.last - counter.first;
  return killed <= counter.taken ? 0
                                 : static_cast<std::uint32_t>(std::min<std::uint64_t>(killed, UINT32_MAX));
}

std::uint32_t MemoryKills::take(std::int32_t pid, std::uint64_t start_time) {
  std::uint32_t killed = look(pid, start_time);
  if (killed) ++counters_.at(counter_of_process_.at({pid, start_time})).taken;
  return killed;
}

}  // namespace ddpscope::commands
