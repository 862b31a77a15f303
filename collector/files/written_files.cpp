// Follows openings by their number, and names through renames.
#include "collector/files/written_files.h"

#include <fcntl.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace ddpscope::files {
namespace {

using trace::Operation;

constexpr std::string_view kIgnored[] = {"/__pycache__/",   "/.triton/",          "/triton_cache",
                                         "/torchinductor_", "/torch_extensions/", "/.nv/",
                                         "/.cache/"};
constexpr std::string_view kIgnoredRoots[] = {"/proc/", "/sys/", "/dev/"};

bool is_ignored(std::string_view path) {
  auto within = [&](std::string_view part) { return path.find(part) != std::string_view::npos; };
  auto below = [&](std::string_view root) { return path.starts_with(root); };
  return path.empty() || std::any_of(std::begin(kIgnored), std::end(kIgnored), within) ||
         std::any_of(std::begin(kIgnoredRoots), std::end(kIgnoredRoots), below);
}

class ProcessWrites {
 public:
  ProcessWrites(const model::Job& job, std::uint32_t process, std::vector<WrittenFile>& out)
      : job_(job), process_(process), out_(out), first_(out.size()) {}

  void see(model::EventPlace place, const trace::Record& record) {
    switch (trace::operation_of(static_cast<trace::Call>(record.call))) {
      case Operation::kOpen:
        return open(place, trace::payload_of<trace::payload::FileOpen>(record));
      case Operation::kWrite:
      case Operation::kTransfer:
        return write(place, trace::payload_of<trace::payload::FileIo>(record));
      case Operation::kDigest:
        return digest(trace::payload_of<trace::payload::Digest>(record));
      case Operation::kRename:
        return rename(place, trace::payload_of<trace::payload::FileName>(record));
      default:
        return;
    }
  }

  // Openings that got no byte wrote nothing.
  void finish() {
    std::erase_if(out_,
                  [&](const WrittenFile& file) { return file.open.process == process_ && file.bytes == 0; });
  }

 private:
  void open(model::EventPlace place, const trace::payload::FileOpen& opening) {
    bool writes = (opening.flags & O_ACCMODE) != O_RDONLY;
    std::string_view path = job_.processes[process_].file.string(opening.path);
    if (opening.error || !opening.file || !writes || is_ignored(path)) return;
    const model::Process& process = job_.processes[process_];
    WrittenFile file{};
    file.rank = process.rank;
    file.open = {process_, place};
    file.host = process.host;
    file.path = path;
    file.begin_ns = file.end_ns = job_.begin_ns(file.open);
    file.append = opening.flags & O_APPEND;
    file.truncate = opening.flags & (O_TRUNC | O_EXCL);
    by_number_[opening.file] = out_.size();
    out_.push_back(std::move(file));
  }

  WrittenFile* find(std::uint32_t number) {
    auto found = by_number_.find(number);
    return found == by_number_.end() ? nullptr : &out_[found->second];
  }

  void write(model::EventPlace place, const trace::payload::FileIo& io) {
    WrittenFile* file = find(io.file);
    if (!file || !io.bytes) return;
    file->bytes += io.bytes;
    file->end_ns = std::max(file->end_ns, job_.end_ns({process_, place}));
    if (io.offset != ~std::uint64_t{0}) file->extents.push_back({io.offset, io.bytes});
  }

  void digest(const trace::payload::Digest& digest) {
    WrittenFile* file = find(digest.file);
    if (file && digest.words > 1) file->digests.push_back({digest.hash, digest.bytes});
  }

  // The latest file of this name that the process wrote is what it publishes.
  void rename(model::EventPlace place, const trace::payload::FileName& name) {
    const trace::TraceFile& file = job_.processes[process_].file;
    std::string_view from = file.string(name.path), to = file.string(name.target);
    if (name.error) return;
    for (std::size_t i = out_.size(); i > first_; --i) {
      WrittenFile& written = out_[i - 1];
      if (written.path != from) continue;
      written.path = to;
      written.end_ns = job_.end_ns({process_, place});
      return;
    }
  }

  const model::Job& job_;
  std::uint32_t process_;
  std::vector<WrittenFile>& out_;
  std::size_t first_;
  std::unordered_map<std::uint32_t, std::size_t> by_number_;
};

}  // namespace

std::vector<WrittenFile> find_written_files(const model::Job& job) {
  std::vector<WrittenFile> files;
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    if (job.processes[i].rank < 0) continue;
    ProcessWrites writes(job, i, files);
    model::for_each_in_time(job.processes[i].file, [&](model::EventPlace place, const trace::Record& record) {
      writes.see(place, record);
    });
    writes.finish();
  }
  return files;
}

}  // namespace ddpscope::files
