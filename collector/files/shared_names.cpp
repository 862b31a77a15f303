// First who touches and who changes which name, then the events of the names that count.
#include "collector/files/shared_names.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "collector/files/aliases.h"
#include "collector/files/awaited_folders.h"
#include "collector/files/families.h"
#include "collector/files/ignored.h"
#include "collector/files/missed_folders.h"
#include "collector/files/name_history.h"
#include "collector/files/opened_files.h"
#include "collector/files/places.h"
#include "collector/files/record_kinds.h"
#include "collector/model/job_order.h"

namespace ddpscope::files {
namespace {

using model::Job;
using trace::Operation;
using trace::Record;
namespace payload = trace::payload;

// Room for events is made in advance, most of which takes no memory until it is used; not without limit, for
// few of the records may concern files that count.
constexpr std::uint64_t kReserved = 1 << 24;

class Survey {
 public:
  explicit Survey(const Job& job)
      : job_(job),
        places_(job),
        names_(job.processes.size()),
        openings_(job.processes.size()),
        opened_(job.processes.size()) {}

  SharedNames take() {
    survey();
    join_renamed();
    choose();
    if (std::find(chosen_.begin(), chosen_.end(), true) != chosen_.end()) {
      collect_all();
      mark_makers(out_, made_outside());
    }
    return std::move(out_);
  }

 private:
  void survey() {
    for (std::uint32_t process = 0; process < job_.processes.size(); ++process) {
      if (job_.processes[process].rank < 0) continue;
      model::for_each_in_time(job_.processes[process].file, kNameFiles,
                              [&](model::EventPlace, const Record& record) {
                                touch(process, record, trace::operation_of(record.call));
                              });
    }
  }

  // Of the processes that use any of the names that count.
  void collect_all() {
    std::vector<bool> users(job_.processes.size());
    for (std::uint32_t process = 0; process < users.size(); ++process)
      for (const auto& [path, name] : names_[process]) users[process] = users[process] || concerns(name);
    std::uint64_t most = 0;
    for (std::uint32_t process = 0; process < users.size(); ++process)
      if (users[process]) most += job_.processes[process].file.count(kUseFiles);
    out_.events.reserve(std::min(most, kReserved));
    model::for_each_in_time(job_, users, kUseFiles, [&](model::EventRef event, const Record& record) {
      collect(event, record, trace::operation_of(record.call));
    });
    auto earlier = [](const FileEvent& a, const FileEvent& b) { return a.begin_ns < b.begin_ns; };
    if (!std::is_sorted(out_.events.begin(), out_.events.end(), earlier))
      std::stable_sort(out_.events.begin(), out_.events.end(), earlier);
  }

  std::vector<MadeOutside> made_outside() {
    std::vector<MadeOutside> made;
    for (std::uint32_t process = 0; process < job_.processes.size(); ++process) {
      const model::Process& own = job_.processes[process];
      if (own.rank >= 0) continue;
      model::for_each_in_time(own.file, {Operation::kOpen},
                              [&](model::EventPlace place, const Record& record) {
                                if (trace::find_call(record.call)->payload != trace::PayloadKind::kFileOpen)
                                  return;
                                auto call = trace::payload_of<payload::FileOpen>(record);
                                if (call.error || !(call.flags & O_CREAT)) return;
                                auto name = by_place_.find(places_.of(process, own.file.string(call.path)));
                                if (name == by_place_.end() || !counts(name->second)) return;
                                made.push_back({job_.end_ns({process, place}), name->second});
                              });
    }
    std::sort(made.begin(), made.end(),
              [](const MadeOutside& a, const MadeOutside& b) { return a.at_ns < b.at_ns; });
    return made;
  }

  // String ids are few, records many.
  Name name_of(std::uint32_t process, std::uint32_t path) {
    auto [known, fresh] = names_[process].try_emplace(path, kNoName);
    if (!fresh) return known->second;
    std::string_view text = job_.processes[process].file.string(path);
    if (is_no_file(text)) return kNoName;
    std::string place = places_.of(process, text);
    auto [name, made] = by_place_.try_emplace(place, static_cast<Name>(out_.places.size()));
    if (made) {
      out_.places.push_back(std::move(place));
      out_.paths.emplace_back(text);
      out_.ignored.push_back(is_ignored(text));
      touched_.emplace_back();
      families_.add();
    }
    return known->second = name->second;
  }

  void touch(Name name, std::int32_t rank, bool changed) {
    if (name != kNoName) touched_[name].add(rank, changed);
  }

  void touch(std::uint32_t process, const Record& record, Operation operation) {
    std::int32_t rank = job_.processes[process].rank;
    const trace::CallInfo* info = trace::find_call(record.call);
    if (operation == Operation::kOpen && info->payload == trace::PayloadKind::kFileOpen) {
      auto opening = trace::payload_of<payload::FileOpen>(record);
      bool writes = (opening.flags & O_ACCMODE) != O_RDONLY && !opening.error;
      Name name = name_of(process, opening.path);
      touch(name, rank, writes);
      if (opening.error == ENOENT && opening.flags & O_CREAT) missed_folders_.note(name, rank);
      if (opening.error) return;
      if (S_ISFIFO(opening.mode) && name != kNoName) out_.ignored[name] = true;  // what it holds is a message
      if (opening.flags & O_CREAT) aliases_.make(name, rank, opening.device, opening.inode);
      aliases_.find(name, rank, opening.device, opening.inode);
    } else if (info->payload == trace::PayloadKind::kFileLock) {
      auto lock = trace::payload_of<payload::FileLock>(record);
      if (lock.inode) out_.locked.emplace(lock.device, lock.inode);
      if (!lock.error) out_.locking.emplace(process, lock.file);
    } else if (info->payload == trace::PayloadKind::kFileName) {
      touch_name(process, record, operation);
    }
  }

  void touch_name(std::uint32_t process, const Record& record, Operation operation) {
    std::int32_t rank = job_.processes[process].rank;
    auto call = trace::payload_of<payload::FileName>(record);
    bool changes = (changes_name(operation) || changes_state(operation)) && !call.error;
    Name name = first_name_of(process, record);
    touch(name, rank, changes);
    if (operation == Operation::kMakeDirectory && call.error == ENOENT) missed_folders_.note(name, rank);
    if (lists(operation)) folders_.list(name, rank);
    if (lists(operation) && call.target) folders_.list(name, name_of(process, call.target), rank);
    if (looks_up(operation) && !call.error) {
      folders_.ask(name, rank, call.count);
      aliases_.find(name, rank, call.device, call.inode);
    }
    if (operation == Operation::kMakeDirectory && changes) aliases_.make(name, rank, call.device, call.inode);
    if (!call.target || !changes) return;
    Name target = name_of(process, call.target);
    touch(target, rank, true);
    aliases_.make(target, rank, call.device, call.inode);
    if (makes_symbolic_link(record) && target != kNoName) links_.push_back(target);
    if (operation == Operation::kRename && name != kNoName && target != kNoName)
      renames_.push_back({name, target, rank});
  }

  // What a symbolic link says is a text: whose file it means shows when somebody finds it.
  Name first_name_of(std::uint32_t process, const Record& record) {
    if (makes_symbolic_link(record)) return kNoName;
    return name_of(process, trace::payload_of<payload::FileName>(record).path);
  }

  void join_renamed() {
    for (const Renamed& renamed : renames_) {
      const std::string& from = out_.places[renamed.from];
      std::size_t folder = out_.places[renamed.to].size();
      families_.join(renamed.from, renamed.to);
      for_each_below(renamed.from, [&](Name name) { touch(name, renamed.rank, true); });
      for_each_below(renamed.to, [&](Name name) {
        auto before = by_place_.find(from + out_.places[name].substr(folder));
        if (before != by_place_.end()) families_.join(before->second, name);
      });
    }
  }

  template <class Visit>
  void for_each_below(Name folder, Visit visit) const {
    files::for_each_below(by_place_, out_.places[folder], visit);
  }

  void choose() {
    missed_folders_.find(by_place_, out_.places,
                         [&](Name folder, std::int32_t rank) { touch(folder, rank, false); });
    std::map<Name, Touched> whole;
    for (Name name = 0; name < touched_.size(); ++name) {
      Touched& family = whole[families_.find(name)];
      const Touched& own = touched_[name];
      if (own.rank < 0) continue;
      family.several = family.several || own.several || (family.rank >= 0 && family.rank != own.rank);
      family.rank = own.rank;
      family.changed = family.changed || own.changed;
    }
    chosen_.resize(touched_.size());
    for (Name name = 0; name < touched_.size(); ++name) {
      const Touched& family = whole[families_.find(name)];
      chosen_[name] = family.several && family.changed;
    }
    choose_by_renames();
    std::vector<Name> aliases = aliases_.names(out_.places);
    for (std::size_t i = 0; i + 1 < aliases.size(); i += 2) folders_.ask_as(aliases[i + 1], aliases[i]);
    aside_.resize(chosen_.size());
    if (std::find(chosen_.begin(), chosen_.end(), true) != chosen_.end() || tells_listings(job_))
      folders_.for_each([&](Name folder, const Touched& by) { choose_awaited(folder, by); });
    for (const auto& [link, folder] : folders_.led()) chosen_[link] = chosen_[link] || chosen_[folder];
    out_.judged = chosen_;
    choose_aliases(aliases);
  }

  void choose_by_renames() {
    for (const auto& [from, to, rank] : renames_)
      chosen_[from] = chosen_[to] = chosen_[from] || chosen_[to] || folds(from) || folds(to);
  }

  // They tell who waits for what. Data is compared by the names that ranks share.
  void choose_aliases(const std::vector<Name>& aliases) {
    for (Name name : aliases) chosen_[name] = true;
    if (!aliases.empty()) choose_by_renames();
    for (Name link : links_) chosen_[link] = chosen_[link] || folds(link);
    for (Name name = 0; name < out_.judged.size(); ++name)
      if (out_.ignored[name]) out_.judged[name] = false;
  }

  // What comes and goes in a folder may be what another rank waits for.
  void choose_awaited(Name folder, const Touched& waiting) {
    for_each_below(folder, [&](Name name) {
      const Touched& own = touched_[name];
      bool inside = folder_of(out_.places[name]) == out_.places[folder];
      bool others = waiting.several || own.several || waiting.rank != own.rank;
      if (!inside || !own.changed || !others) return;
      aside_[name] = !chosen_[name] || aside_[name];
      chosen_[name] = chosen_[folder] = true;
    });
  }

  // A folder whose files count.
  bool folds(Name folder) const {
    bool any = false;
    for_each_below(folder, [&](Name name) { any = any || chosen_[name]; });
    return any;
  }

  bool counts(Name name) const { return name != kNoName && chosen_[name]; }
  bool concerns(Name name) const { return counts(name) || missed_folders_.concern(name); }

  FileEvent make(model::EventRef event, const Record& record, Operation operation, Name name) const {
    FileEvent made{.event = event,
                   .rank = job_.processes[event.process].rank,
                   .thread = record.thread,
                   .operation = operation,
                   .name = name,
                   .begin_ns = job_.begin_ns(event),
                   .end_ns = job_.end_ns(event)};
    made.aside = name != kNoName && aside_[name];
    return made;
  }

  void collect(model::EventRef event, const Record& record, Operation operation) {
    const trace::CallInfo* info = trace::find_call(record.call);
    if (info->payload == trace::PayloadKind::kFileOpen) return collect_open(event, record, operation);
    if (info->payload == trace::PayloadKind::kFileName) return collect_name(event, record, operation);
    if (info->payload == trace::PayloadKind::kFileTransfer) return collect_transfer(event, record);
    if (info->payload == trace::PayloadKind::kListing) return collect_listing(event, record, operation);
    if (!moves_bytes(operation) || info->payload != trace::PayloadKind::kFileIo) return;
    auto io = trace::payload_of<payload::FileIo>(record);
    auto& openings = openings_[event.process];
    auto opening = openings.find(io.file);
    if (opening == openings.end() || io.error) return;
    FileEvent moved = make(event, record, operation, opening->second);
    moved.opening = io.file;
    moved.bytes = io.bytes;
    bool transfers = operation == Operation::kRead || operation == Operation::kWrite;
    if (transfers || operation == Operation::kMap) set_part(moved, io.offset);
    if (operation == Operation::kMap) moved.flags = io.count | static_cast<std::uint32_t>(io.next) << 16;
    out_.events.push_back(moved);
  }

  void collect_open(model::EventRef event, const Record& record, Operation operation) {
    auto call = trace::payload_of<payload::FileOpen>(record);
    Name name = name_of(event.process, call.path);
    if (call.path && call.inode)
      opened_.note(event.process, call.device, call.inode, counts(name) ? name : kNoName);
    if (!concerns(name)) return;
    FileEvent opened = make(event, record, operation, name);
    opened.device = call.device;
    opened.inode = call.inode;
    opened.flags = call.flags;
    opened.opening = call.error ? 0 : call.file;
    opened.error = call.error;
    if (call.error && call.fd < 0)
      opened.attempts = static_cast<std::uint32_t>(-static_cast<std::int64_t>(call.fd));
    note_folder(opened);
    if (!counts(name)) return;
    if (opened.opening) openings_[event.process][opened.opening] = name;
    out_.events.push_back(opened);
  }

  void collect_name(model::EventRef event, const Record& record, Operation operation) {
    if (!changes_name(operation) && !changes_state(operation) && !looks_up(operation) && !lists(operation))
      return;
    auto call = trace::payload_of<payload::FileName>(record);
    bool by_descriptor = looks_up(operation) && !call.path;
    Name name = by_descriptor ? opened_.as(event.process, call.device, call.inode)
                              : first_name_of(event.process, record);
    bool two_names = operation == Operation::kRename || operation == Operation::kLink || lists(operation);
    Name target = two_names && call.target ? name_of(event.process, call.target) : kNoName;
    if (!concerns(name) && (!counts(target) || lists(operation))) return;
    FileEvent changed = make(event, record, operation, name);
    changed.target = target;
    changed.device = call.device;
    changed.inode = call.inode;
    changed.attempts = std::max(call.count, 1u);
    changed.error = call.error;
    changed.by_descriptor = by_descriptor;
    note_folder(changed);
    if (counts(name) || (counts(target) && !lists(operation))) out_.events.push_back(changed);
  }

  // It began when its folder was opened, and its record is of when it had come to its end.
  void collect_listing(model::EventRef event, const Record& record, Operation operation) {
    auto call = trace::payload_of<payload::Listing>(record);
    Name name = name_of(event.process, call.path);
    if (!counts(name)) return;
    FileEvent listed = make(event, record, operation, name);
    listed.begin_ns = job_.time_ns(event.process, call.since);
    out_.events.push_back(listed);
  }

  void note_folder(const FileEvent& attempt) {
    auto look = missed_folders_.look(attempt);
    if (look && counts(look->name)) out_.events.push_back(*look);
  }

  // Runs are folded where each call begins at the last one's end.
  static void set_part(FileEvent& moved, std::uint64_t offset) {
    if (offset == kWhole || offset > kWhole - moved.bytes) return;  // unknown
    moved.from = offset;
    moved.to = offset + moved.bytes;
    moved.part = true;
  }

  void collect_transfer(model::EventRef event, const Record& record) {
    auto call = trace::payload_of<payload::FileTransfer>(record);
    if (call.error || !call.bytes) return;
    for (auto [number, operation, offset] : {std::tuple(call.source, Operation::kRead, call.source_offset),
                                             {call.target, Operation::kWrite, call.target_offset}}) {
      auto opening = openings_[event.process].find(number);
      if (!number || opening == openings_[event.process].end()) continue;
      FileEvent moved = make(event, record, operation, opening->second);
      moved.opening = number;
      moved.bytes = call.bytes;
      set_part(moved, offset);
      out_.events.push_back(moved);
    }
  }

  const Job& job_;
  Places places_;
  SharedNames out_;
  std::vector<std::unordered_map<std::uint32_t, Name>> names_;  // by process and string id
  std::map<std::string, Name> by_place_;
  std::vector<Touched> touched_;  // by name
  std::vector<bool> chosen_;
  struct Renamed {
    Name from, to;
    std::int32_t rank;
  };
  std::vector<Renamed> renames_;
  std::vector<bool> aside_;  // of the chosen
  AwaitedFolders folders_;
  std::vector<Name> links_;  // symbolic ones that were made
  Aliases aliases_;
  MissedFolders missed_folders_;
  Families families_;
  std::vector<std::unordered_map<std::uint32_t, Name>> openings_;  // by process and number
  OpenedFiles opened_;
};

}  // namespace

SharedNames find_shared_names(const Job& job) { return Survey(job).take(); }

}  // namespace ddpscope::files
