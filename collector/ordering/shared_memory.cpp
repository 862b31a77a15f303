// By the inodes of what is mapped.
#include "collector/ordering/shared_memory.h"

#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "collector/files/shared_names.h"

namespace ddpscope::ordering {
namespace {

using Inode = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>;  // host, device, inode

// What the process has mapped shared and writable.
std::set<Inode> find_shared_mappings(const model::Process& process) {
  std::unordered_map<std::uint32_t, Inode> opened_files;  // by number
  std::vector<std::uint32_t> mapped;
  // What any file operation may open.
  constexpr auto kFiles = trace::OperationSet::range(trace::Operation::kOpen, trace::Operation::kAccess);
  model::for_each(process.file, kFiles, [&](model::EventPlace, const trace::Record& record) {
    const trace::CallInfo* info = trace::find_call(record.call);
    if (!info) return;
    if (info->payload == trace::PayloadKind::kFileOpen) {
      auto opened = trace::payload_of<trace::payload::FileOpen>(record);
      if (opened.file) opened_files[opened.file] = {process.host, opened.device, opened.inode};
    } else if (info->operation == trace::Operation::kMap) {
      auto map = trace::payload_of<trace::payload::FileIo>(record);  // count: protection, next: flags
      if (!map.error && files::shares_writes(map.count, map.next)) mapped.push_back(map.file);
    }
  });
  std::set<Inode> inodes;
  for (std::uint32_t number : mapped)
    if (auto file = opened_files.find(number); file != opened_files.end()) inodes.insert(file->second);
  return inodes;
}

}  // namespace

std::set<std::pair<std::uint32_t, std::uint32_t>> find_shared_memory(const model::Job& job) {
  std::map<Inode, std::vector<std::uint32_t>> holders;
  for (std::uint32_t process = 0; process < job.processes.size(); ++process)
    for (const Inode& inode : find_shared_mappings(job.processes[process])) holders[inode].push_back(process);
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const auto& [inode, processes] : holders)
    for (std::size_t i = 0; i < processes.size(); ++i)
      for (std::size_t k = i + 1; k < processes.size(); ++k) pairs.emplace(processes[i], processes[k]);
  return pairs;
}

}  // namespace ddpscope::ordering
