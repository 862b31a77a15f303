// Mounts as each process recorded them: those of network file systems, and what is mounted below these.
#include "collector/files/places.h"

#include <algorithm>

#include "trace/file_systems.h"

namespace ddpscope::files {
namespace {

std::string_view take_field(std::string_view& text) {
  std::string_view field = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(text.size(), field.size() + 1));
  return field;
}

// Blanks, tabs, line ends and backslashes of a path are three octal digits behind a backslash (proc(5)).
std::string unescape(std::string_view text) {
  auto octal = [](char digit) { return digit >= '0' && digit < '8'; };
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    bool escaped = text[i] == '\\' && i + 3 < text.size() && text[i + 1] < '4' &&
                   std::ranges::all_of(text.substr(i + 1, 3), octal);
    if (!escaped) {
      path += text[i];
      continue;
    }
    path += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return path;
}

bool lies_below(std::string_view path, std::string_view folder) {
  if (folder.ends_with('/')) folder.remove_suffix(1);
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace

// "TYPE SOURCE ROOT OPTIONS", as in /proc/self/mountinfo, where the root stands in front; older traces lack
// it.
Places::Mount::Mount(std::string_view at, std::string_view value) : point(unescape(at)) {
  type = take_field(value);
  source = take_field(value);
  if (value.starts_with('/')) root = unescape(take_field(value));
  if (root.ends_with('/')) root.pop_back();
}

Places::Places(const model::Job& job) : job_(job), mounts_(job.processes.size()) {
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    const trace::TraceFile& file = job.processes[i].file;
    model::for_each(file, {trace::Operation::kSetting}, [&](model::EventPlace, const trace::Record& record) {
      if (record.call != static_cast<std::uint16_t>(trace::Call::mount)) return;
      auto setting = trace::payload_of<trace::payload::Setting>(record);
      mounts_[i].emplace_back(file.string(setting.name), file.string(setting.value));
    });
  }
}

const Places::Mount* Places::shared_mount(std::uint32_t process, std::string_view path) const {
  const Mount* deepest = nullptr;
  for (const Mount& mount : mounts_[process])
    if (lies_below(path, mount.point) && (!deepest || deepest->point.size() <= mount.point.size()))
      deepest = &mount;
  return deepest && trace::is_shared(deepest->type, deepest->source) ? deepest : nullptr;
}

View Places::view(std::uint32_t process, std::string_view path) const {
  const Mount* mount = shared_mount(process, path);
  return {job_.processes[process].host, mount ? std::string_view(mount->point) : std::string_view()};
}

std::string Places::of(std::uint32_t process, std::string_view path) const {
  const Mount* mount = shared_mount(process, path);
  if (!mount) return std::to_string(job_.processes[process].host) + "!" + std::string(path);
  std::size_t point = mount->point.ends_with('/') ? mount->point.size() - 1 : mount->point.size();
  std::string storage = trace::is_fuse(mount->type) ? "fuse " : "";
  return storage.append(mount->source).append("!").append(mount->root).append(path.substr(point));
}

}  // namespace ddpscope::files
