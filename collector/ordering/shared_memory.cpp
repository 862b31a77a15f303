// By the inodes of what is mapped.
#include "collector/ordering/shared_memory.h"

#include <sys/mman.h>

#include <map>
#include <tuple>

namespace ddpscope::ordering {
namespace {

using trace::Operation;
using trace::Record;
namespace payload = trace::payload;

using Inode = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>;  // host, device, inode

class Mappings {
 public:
  void read(const model::Job& job, std::uint32_t process) {
    std::map<std::uint32_t, Inode> files;  // by number
    model::for_each_in_time(job.processes[process].file, [&](model::EventPlace, const Record& record) {
      const trace::CallInfo* info = trace::find_call(record.call);
      if (!info) return;
      if (info->payload == trace::PayloadKind::kFileOpen) {
        auto opened = trace::payload_of<payload::FileOpen>(record);
        if (opened.file) files[opened.file] = {job.processes[process].host, opened.device, opened.inode};
      } else if (info->operation == Operation::kMap && info->payload == trace::PayloadKind::kFileIo) {
        auto map = trace::payload_of<payload::FileIo>(record);  // count: the protection; next: the flags
        bool shared = (map.next & MAP_TYPE) != MAP_PRIVATE && (map.count & PROT_WRITE) && !map.error;
        auto file = files.find(map.file);
        if (shared && file != files.end()) by_inode_[file->second].insert(process);
      }
    });
  }

  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs() const {
    std::set<std::pair<std::uint32_t, std::uint32_t>> found;
    for (const auto& [inode, processes] : by_inode_)
      for (auto first = processes.begin(); first != processes.end(); ++first)
        for (auto second = std::next(first); second != processes.end(); ++second)
          found.emplace(*first, *second);
    return found;
  }

 private:
  std::map<Inode, std::set<std::uint32_t>> by_inode_;
};

}  // namespace

std::set<std::pair<std::uint32_t, std::uint32_t>> find_shared_memory(const model::Job& job) {
  Mappings mappings;
  for (std::uint32_t process = 0; process < job.processes.size(); ++process) mappings.read(job, process);
  return mappings.pairs();
}

}  // namespace ddpscope::ordering
