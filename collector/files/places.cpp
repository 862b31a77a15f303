// Mounts as each process recorded them: those of network file systems.
#include "collector/files/places.h"

namespace ddpscope::files {
namespace {

// "TYPE SOURCE OPTIONS", as in /proc/self/mountinfo after the dash.
std::string_view source_in(std::string_view value) {
  std::size_t type = value.find(' ');
  if (type == std::string_view::npos) return value;
  std::string_view rest = value.substr(type + 1);
  return rest.substr(0, rest.find(' '));
}

bool lies_below(std::string_view path, std::string_view folder) {
  if (folder.ends_with('/')) folder.remove_suffix(1);
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace

Places::Places(const model::Job& job) : job_(job), mounts_(job.processes.size()) {
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    const trace::TraceFile& file = job.processes[i].file;
    model::for_each(file, {trace::Operation::kSetting}, [&](model::EventPlace, const trace::Record& record) {
      if (record.call != static_cast<std::uint16_t>(trace::Call::mount)) return;
      auto setting = trace::payload_of<trace::payload::Setting>(record);
      mounts_[i].push_back({file.string(setting.name), source_in(file.string(setting.value))});
    });
  }
}

const Places::Mount* Places::deepest(std::uint32_t process, std::string_view path) const {
  const Mount* deepest = nullptr;
  for (const Mount& mount : mounts_[process])
    if (lies_below(path, mount.point) && (!deepest || deepest->point.size() <= mount.point.size()))
      deepest = &mount;
  return deepest;
}

View Places::view(std::uint32_t process, std::string_view path) const {
  const Mount* mount = deepest(process, path);
  return {job_.processes[process].host, mount ? mount->point : std::string_view()};
}

std::string Places::of(std::uint32_t process, std::string_view path) const {
  const Mount* mount = deepest(process, path);
  if (!mount) return std::to_string(job_.processes[process].host) + "!" + std::string(path);
  std::size_t point = mount->point.ends_with('/') ? mount->point.size() - 1 : mount->point.size();
  return std::string(mount->source) + "!" + std::string(path.substr(point));
}

}  // namespace ddpscope::files
