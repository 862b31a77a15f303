// Looks for saves of each part, then for files that all parts write.
#include "collector/detectors/kept_work.h"

#include <fcntl.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "collector/detectors/duplicate_writes.h"
#include "collector/files/ignored.h"
#include "collector/files/shared_names.h"

namespace ddpscope::detectors {
namespace {

using files::WrittenFile;

// Files that were removed again by whoever wrote them: libraries try out where they may write.
class Removals {
 public:
  explicit Removals(const model::Job& job) {
    for (std::uint32_t process = 0; process < job.processes.size(); ++process) {
      const trace::TraceFile& file = job.processes[process].file;
      model::for_each(file, {trace::Operation::kUnlink},
                      [&](model::EventPlace place, const trace::Record& record) {
                        auto call = trace::payload_of<trace::payload::FileName>(record);
                        std::string_view path = file.string(call.path);
                        if (!call.error)
                          removals_.emplace(std::pair(process, path), job.begin_ns({process, place}));
                      });
    }
  }

  bool holds(const WrittenFile& file) const {
    auto [from, to] = removals_.equal_range({file.open.process, file.path});
    return std::any_of(from, to, [&](const auto& removal) { return removal.second >= file.end_ns; });
  }

 private:
  std::multimap<std::pair<std::uint32_t, std::string_view>, std::int64_t> removals_;  // ns
};

class Saves {
 public:
  using OfParts = std::map<std::size_t, const WrittenFile*>;  // by part: its first

  Saves(const patterns::Parts& parts, const std::vector<patterns::Training>& trainings) {
    for (std::size_t part = 0; part < parts.size(); ++part)
      for (std::int32_t rank : parts[part]) part_of_[rank] = part;
    for (const patterns::Training& training : trainings) trains_from_ns_[training.rank] = training.first_ns;
  }

  OfParts find(const std::vector<const WrittenFile*>& files) const {
    OfParts first;
    for (const WrittenFile* file : files)
      if (is_save(*file)) first.emplace(part_of_.at(file->rank), file);
    return first;
  }

  std::size_t times(const std::vector<const WrittenFile*>& files, std::int32_t rank) const {
    return static_cast<std::size_t>(std::count_if(
        files.begin(), files.end(), [&](auto* file) { return file->rank == rank && is_save(*file); }));
  }

  // Parts that leave anything behind from when they train on. What they print is not theirs to keep.
  std::set<std::size_t> writers(const Facts& facts) const {
    std::set<std::size_t> writers;
    Removals removals(facts.job);
    for (const WrittenFile& file : facts.written)
      if (trains_from_ns_.contains(file.rank) && file.end_ns > trains_from_ns_.at(file.rank) &&
          !file.inherited && !removals.holds(file))
        writers.insert(part_of_.at(file.rank));
    for (std::uint32_t process = 0; process < facts.job.processes.size(); ++process) {
      auto part = part_of_.find(facts.job.processes[process].rank);
      if (part == part_of_.end()) continue;
      if (writes_by_mapping(facts.job, process) || opens_for_a_program(facts.job, process))
        writers.insert(part->second);
    }
    return writers;
  }

 private:
  bool is_save(const WrittenFile& file) const {
    auto from = trains_from_ns_.find(file.rank);
    return from != trains_from_ns_.end() && file.begin_ns > from->second && file.bytes >= kLeastSave &&
           !file.append && !file.inherited;
  }

  static bool writes_by_mapping(const model::Job& job, std::uint32_t process) {
    const trace::TraceFile& file = job.processes[process].file;
    std::unordered_set<std::uint32_t> opened, mapped;  // files, by number
    model::for_each(file, [&](model::EventPlace, const trace::Record& record) {
      const trace::CallInfo* info = trace::find_call(record.call);
      if (info && info->payload == trace::PayloadKind::kFileOpen) {
        auto open = trace::payload_of<trace::payload::FileOpen>(record);
        if (open.file && !files::is_ignored(file.string(open.path))) opened.insert(open.file);
      } else if (info && info->operation == trace::Operation::kMap) {
        auto map = trace::payload_of<trace::payload::FileIo>(record);  // count: protection, next: flags
        if (!map.error && files::shares_writes(map.count, map.next)) mapped.insert(map.file);
      }
    });
    return std::any_of(mapped.begin(), mapped.end(),
                       [&](std::uint32_t number) { return opened.contains(number); });
  }

  // `gzip > FILE`: a shell opens the file and becomes a program of which nothing is recorded.
  bool opens_for_a_program(const model::Job& job, std::uint32_t process) const {
    const trace::TraceFile& file = job.processes[process].file;
    auto trains_from = trains_from_ns_.find(job.processes[process].rank);
    bool opened = false, replaced = false;
    constexpr trace::OperationSet kBoth{trace::Operation::kOpen, trace::Operation::kExecute};
    model::for_each(file, kBoth, [&](model::EventPlace, const trace::Record& record) {
      if (trace::operation_of(record.call) == trace::Operation::kExecute) {
        replaced = replaced || !record.end;
        return;
      }
      auto open = trace::payload_of<trace::payload::FileOpen>(record);
      bool makes =
          (open.flags & O_ACCMODE) != O_RDONLY && !open.error && !files::is_ignored(file.string(open.path));
      bool inherited = record.call == static_cast<std::uint16_t>(trace::Call::inherited_descriptor);
      bool trains =
          trains_from != trains_from_ns_.end() && job.time_ns(process, record.begin) > trains_from->second;
      opened = opened || (makes && !inherited && trains);
    });
    return opened && replaced;
  }

  std::map<std::int32_t, std::size_t> part_of_;
  std::map<std::int32_t, std::int64_t> trains_from_ns_;
};

std::vector<const WrittenFile*> values(const Saves::OfParts& by_part) {
  std::vector<const WrittenFile*> files;
  for (const auto& [part, file] : by_part) files.push_back(file);
  return files;
}

}  // namespace

KeptWork find_kept_work(const Facts& facts, const patterns::Parts& parts,
                        const std::vector<patterns::Training>& trainings) {
  Saves saves(parts, trainings);
  std::vector<const WrittenFile*> all;
  for (const WrittenFile& file : facts.written) all.push_back(&file);
  Saves::OfParts savers = saves.find(all);
  if (savers.size() == 1 && saves.writers(facts).size() == 1)
    return {KeptWork::Kind::kOneSaves, values(savers), saves.times(all, savers.begin()->second->rank)};
  if (savers.size() < parts.size()) return {};
  for (const Duplicate& duplicate : find_duplicate_writes(WriteOrders(facts), facts.written)) {
    Saves::OfParts writers = saves.find(duplicate.writers);
    if (duplicate.doubtful || writers.size() < parts.size()) continue;
    std::size_t times = saves.times(all, writers.begin()->second->rank);
    return {KeptWork::Kind::kAllOverwrite, values(writers), times};
  }
  return {};
}

}  // namespace ddpscope::detectors
