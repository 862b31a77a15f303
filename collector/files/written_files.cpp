// Collects openings and what was written through them, then replays all changes of names in time order.
#include "collector/files/written_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include "collector/files/ignored.h"
#include "collector/files/places.h"

namespace ddpscope::files {
namespace {

using trace::Operation;

// Not shared: those are readers'.
bool takes_exclusively(trace::Call call, std::int32_t operation) {
  if (call == trace::Call::flock) return (operation & ~LOCK_NB) == LOCK_EX;
  if (call == trace::Call::fcntl_lock) return operation == F_WRLCK;
  return operation == F_LOCK || operation == F_TLOCK;
}

struct NameChange {
  std::int64_t at_ns;
  std::uint32_t process;
  std::string_view from, to;  // to: empty when the name is removed
};

class ProcessWrites {
 public:
  ProcessWrites(const model::Job& job, std::uint32_t process, std::vector<WrittenFile>& files,
                std::vector<NameChange>& changes)
      : job_(job), process_(process), files_(files), changes_(changes) {}

  void see(model::EventPlace place, const trace::Record& record) {
    switch (trace::operation_of(record.call)) {
      case Operation::kOpen:
        return open(place, record);
      case Operation::kWrite: {
        auto io = trace::payload_of<trace::payload::FileIo>(record);
        return write(place, record.thread, io.file, io.offset, io.bytes);
      }
      case Operation::kSync:
        return sync(place, trace::payload_of<trace::payload::FileIo>(record));
      case Operation::kTransfer: {
        auto moved = trace::payload_of<trace::payload::FileTransfer>(record);
        return write(place, record.thread, moved.target, moved.target_offset, moved.bytes);
      }
      case Operation::kLock:
        return lock(static_cast<trace::Call>(record.call),
                    trace::payload_of<trace::payload::FileLock>(record));
      case Operation::kClose:
        return unlock(trace::payload_of<trace::payload::FileIo>(record).file);
      case Operation::kDigest:
        return digest(trace::payload_of<trace::payload::Digest>(record));
      case Operation::kRename:
      case Operation::kUnlink:
        return change_name(place, trace::payload_of<trace::payload::FileName>(record));
      default:
        return;
    }
  }

 private:
  void open(model::EventPlace place, const trace::Record& record) {
    auto opening = trace::payload_of<trace::payload::FileOpen>(record);
    const model::Process& process = job_.processes[process_];
    bool writes = (opening.flags & O_ACCMODE) != O_RDONLY;
    std::string_view path = process.file.string(opening.path);
    constexpr std::uint32_t kMakes = O_CREAT | O_EXCL;
    if (!opening.error && (opening.flags & kMakes) == kMakes) made_.insert(path);
    if (opening.error || !opening.file || !writes || is_ignored(path)) return;
    WrittenFile file{};
    file.rank = process.rank;
    file.open = {process_, place};
    file.path = path;
    file.opened_as = path;
    file.host = process.host;
    file.device = opening.device;
    file.inode = opening.inode;
    file.begin_ns = file.last_write_ns = file.end_ns = job_.begin_ns(file.open);
    file.open_ns = job_.end_ns(file.open);
    file.open_thread = file.last_thread = record.thread;
    file.append = opening.flags & O_APPEND;
    file.truncate = opening.flags & (O_TRUNC | O_EXCL);
    file.exclusive = opening.flags & O_EXCL;
    file.inherited = record.call == static_cast<std::uint16_t>(trace::Call::inherited_descriptor);
    by_number_[opening.file] = files_.size();
    files_.push_back(std::move(file));
  }

  WrittenFile* find(std::uint32_t number) {
    auto found = by_number_.find(number);
    return found == by_number_.end() ? nullptr : &files_[found->second];
  }

  void write(model::EventPlace place, std::uint16_t thread, std::uint32_t number, std::uint64_t offset,
             std::uint64_t bytes) {
    WrittenFile* file = find(number);
    if (!file || !bytes) return;
    file->bytes += bytes;
    for (const auto& [lock, held_by] : locks_) file->locks.insert(lock);
    for (std::string_view name : made_)
      if (name != file->opened_as) file->lock_names.insert(name);
    file->last_write_ns = std::max(file->last_write_ns, job_.begin_ns({process_, place}));
    if (std::int64_t end = job_.end_ns({process_, place}); end >= file->end_ns) {
      file->end_ns = end;
      file->last_thread = thread;
    }
    if (offset != ~std::uint64_t{0}) file->extents.push_back({offset, bytes});
  }

  void sync(model::EventPlace place, const trace::payload::FileIo& sync) {
    WrittenFile* file = find(sync.file);
    if (file && file->bytes && !sync.error) file->synced_ns = job_.end_ns({process_, place});
  }

  void lock(trace::Call call, const trace::payload::FileLock& lock) {
    if (lock.error || !lock.inode) return;
    if (takes_exclusively(call, lock.operation))
      locks_[{lock.device, lock.inode}] = lock.file;
    else
      locks_.erase({lock.device, lock.inode});
  }

  void unlock(std::uint32_t closed) {
    std::erase_if(locks_, [&](const auto& held) { return held.second == closed; });
  }

  void digest(const trace::payload::Digest& digest) {
    WrittenFile* file = find(digest.file);
    if (file && digest.words > 1) file->digests.push_back({digest.hash, digest.bytes});
  }

  void change_name(model::EventPlace place, const trace::payload::FileName& name) {
    const trace::TraceFile& file = job_.processes[process_].file;
    if (name.error) return;
    made_.erase(file.string(name.path));
    changes_.push_back(
        {job_.end_ns({process_, place}), process_, file.string(name.path), file.string(name.target)});
  }

  const model::Job& job_;
  std::uint32_t process_;
  std::vector<WrittenFile>& files_;
  std::vector<NameChange>& changes_;
  std::unordered_map<std::uint32_t, std::size_t> by_number_;
  std::set<std::string_view> made_;        // names that it made exclusively, and that are still there
  std::map<FileId, std::uint32_t> locks_;  // that the process holds, and the opening that it took each with
};

// Which written files have which name at a time: a rename moves them, and takes the name from what had it.
class Naming {
 public:
  Naming(const model::Job& job, std::vector<WrittenFile>& files) : places_(job), files_(files) {}

  void opened(std::size_t index) {
    WrittenFile& file = files_[index];
    file.place = places_.of(file.open.process, file.path);
    holders_.emplace(file.place, index);
  }

  void changed(const NameChange& change) {
    std::string from = places_.of(change.process, change.from);
    if (change.to.empty()) {
      holders_.erase(from);
      return;
    }
    holders_.erase(places_.of(change.process, change.to));
    move(holders_.lower_bound(from), holders_.upper_bound(from), change);
    // What lies in a renamed folder: '0' is the character after '/'.
    move(holders_.lower_bound(from + "/"), holders_.lower_bound(from + "0"), change);
  }

 private:
  using Holders = std::multimap<std::string, std::size_t>;

  void move(Holders::iterator first, Holders::iterator last, const NameChange& change) {
    std::vector<std::size_t> moved;
    for (auto it = first; it != last; ++it) moved.push_back(it->second);
    holders_.erase(first, last);
    for (std::size_t index : moved) {
      WrittenFile& file = files_[index];
      if (file.path.starts_with(change.from))
        file.path = std::string(change.to) + file.path.substr(change.from.size());
      file.place = places_.of(change.process, file.path);
      holders_.emplace(file.place, index);
    }
  }

  Places places_;
  std::vector<WrittenFile>& files_;
  Holders holders_;
};

void replay(const model::Job& job, std::vector<NameChange>& changes, std::vector<WrittenFile>& files) {
  std::stable_sort(changes.begin(), changes.end(),
                   [](const NameChange& a, const NameChange& b) { return a.at_ns < b.at_ns; });
  Naming naming(job, files);
  std::size_t next = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (; next < changes.size() && changes[next].at_ns <= files[i].begin_ns; ++next)
      naming.changed(changes[next]);
    naming.opened(i);
  }
  for (; next < changes.size(); ++next) naming.changed(changes[next]);
}

}  // namespace

std::vector<WrittenFile> find_written_files(const model::Job& job) {
  std::vector<WrittenFile> files;
  std::vector<NameChange> changes;
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    if (job.processes[i].rank < 0) continue;
    ProcessWrites writes(job, i, files, changes);
    constexpr trace::OperationSet kWriting =
        trace::OperationSet::range(trace::Operation::kOpen, trace::Operation::kLock) |
        trace::OperationSet{trace::Operation::kDigest};
    model::for_each_in_time(
        job.processes[i].file, kWriting,
        [&](model::EventPlace place, const trace::Record& record) { writes.see(place, record); });
  }
  std::erase_if(files, [](const WrittenFile& file) { return file.bytes == 0; });
  std::stable_sort(files.begin(), files.end(),
                   [](const WrittenFile& a, const WrittenFile& b) { return a.begin_ns < b.begin_ns; });
  replay(job, changes, files);
  return files;
}

}  // namespace ddpscope::files
