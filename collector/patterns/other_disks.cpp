// The last failed opening of each process that it ended, against what others wrote.
#include "collector/patterns/other_disks.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <map>
#include <optional>
#include <string>

#include "collector/files/places.h"
#include "collector/patterns/fatal_failures.h"

namespace ddpscope::patterns {
namespace {

using files::WrittenFile;
using trace::Operation;

class Disks {
 public:
  Disks(const model::Job& job, const std::vector<WrittenFile>& written)
      : job_(job), places_(job), fatal_(job) {
    for (const WrittenFile& file : written)
      if (file.place == own_place(file.host, file.path)) by_path_.emplace(file.path, &file);
  }

  std::optional<FileElsewhere> find(std::uint32_t process) {
    if (by_path_.empty() || job_.processes[process].ended_well()) return std::nullopt;
    std::optional<FileElsewhere> found;
    auto look = [&](model::EventPlace place, const trace::Record& record) {
      std::string_view path = missed_path(job_.processes[process].file, record);
      const WrittenFile* other = path.empty() ? nullptr : find_elsewhere(process, path);
      model::EventRef event{process, place};
      if (other &&
          fatal_.ended(ordering::Span{{process, record.thread}, job_.begin_ns(event), job_.end_ns(event)}))
        found = FileElsewhere{event, path, other};
    };
    model::for_each_in_time(job_.processes[process].file, {Operation::kOpen, Operation::kOpenDirectory},
                            look);
    return found;
  }

 private:
  static std::string own_place(std::uint32_t host, std::string_view path) {
    return fmt::format("{}!{}", host, path);
  }

  // Of an opening that needs the file to be there, or of a listing; empty if it was, or for other calls.
  static std::string_view missed_path(const trace::TraceFile& file, const trace::Record& record) {
    const trace::CallInfo* info = trace::find_call(record.call);
    if (info->payload == trace::PayloadKind::kFileOpen) {
      auto opening = trace::payload_of<trace::payload::FileOpen>(record);
      bool missed = opening.error == ENOENT && !(opening.flags & O_CREAT);
      return missed ? file.string(opening.path) : std::string_view{};
    }
    if (info->payload != trace::PayloadKind::kFileName) return {};
    auto listing = trace::payload_of<trace::payload::FileName>(record);
    return listing.error == ENOENT ? file.string(listing.path) : std::string_view{};
  }

  // Null if the process's own host has it as well, or it does not lie on a disk of that host.
  const WrittenFile* find_elsewhere(std::uint32_t process, std::string_view path) const {
    std::uint32_t host = job_.processes[process].host;
    if (places_.of(process, path) != own_place(host, path)) return nullptr;
    const WrittenFile* other = nullptr;
    std::string below = std::string(path) + "/";
    for (auto it = by_path_.lower_bound(path); it != by_path_.end() && it->first.starts_with(path); ++it) {
      if (it->first != path && !it->first.starts_with(below)) continue;
      if (it->second->host == host) return nullptr;
      if (!other) other = it->second;
    }
    return other;
  }

  const model::Job& job_;
  files::Places places_;
  FatalFailures fatal_;
  std::multimap<std::string_view, const WrittenFile*> by_path_;  // on disks that one host has for itself
};

}  // namespace

std::vector<FileElsewhere> find_files_elsewhere(const model::Job& job,
                                                const std::vector<WrittenFile>& written) {
  std::vector<FileElsewhere> found;
  if (job.hosts.size() < 2) return found;
  Disks disks(job, written);
  for (std::uint32_t process = 0; process < job.processes.size(); ++process) {
    if (job.processes[process].rank < 0) continue;
    if (auto elsewhere = disks.find(process)) found.push_back(*elsewhere);
  }
  return found;
}

}  // namespace ddpscope::patterns
