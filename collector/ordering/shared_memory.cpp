// By the inodes of what is mapped, the numbers of what is attached, and who forked whom.
#include "collector/ordering/shared_memory.h"

#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "collector/files/shared_names.h"
#include "trace/exchange.h"

namespace ddpscope::ordering {
namespace {

// Host, device and inode of a mapped file; host, space and id of memory without one (for that of one process,
// which it shares with those that it forks, the process in place of the host).
using Memory = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>;
using Held = std::map<Memory, std::int64_t>;  // since when, ns

class Mappings {
 public:
  Mappings(const model::Job& job, std::uint32_t process) : job_(job), process_(process) {}

  Held find() {
    // What any file operation may open.
    auto operations = trace::OperationSet::range(trace::Operation::kOpen, trace::Operation::kAccess);
    operations.add(trace::Operation::kMemoryAttach);
    model::for_each(job_.processes[process_].file, operations,
                    [&](model::EventPlace, const trace::Record& record) { see(record); });
    for (auto [number, ns] : mapped_)
      if (auto file = opened_.find(number); file != opened_.end()) held_.emplace(file->second, ns);
    return held_;
  }

 private:
  void see(const trace::Record& record) {
    const trace::CallInfo* info = trace::find_call(record.call);
    if (!info) return;
    std::int64_t ns = job_.time_ns(process_, record.begin);
    if (info->payload == trace::PayloadKind::kFileOpen) {
      auto opened = trace::payload_of<trace::payload::FileOpen>(record);
      if (opened.file) opened_[opened.file] = {host(), opened.device, opened.inode};
    } else if (info->operation == trace::Operation::kMap) {
      auto map = trace::payload_of<trace::payload::FileIo>(record);  // count: protection, next: flags
      if (!map.error && files::shares_writes(map.count, map.next)) mapped_.emplace_back(map.file, ns);
    } else if (info->operation == trace::Operation::kMemoryAttach) {
      auto attached = trace::payload_of<trace::payload::Exchange>(record);
      bool own = attached.space == trace::kAnonymousMemory;
      if (attached.count) held_.emplace(Memory{own ? process_ : host(), attached.space, attached.id}, ns);
    }
  }

  std::uint32_t host() const { return job_.processes[process_].host; }

  const model::Job& job_;
  std::uint32_t process_;
  std::unordered_map<std::uint32_t, Memory> opened_;  // by number
  std::vector<std::pair<std::uint32_t, std::int64_t>> mapped_;
  Held held_;
};

// Which process made which by fork: the child has all that its parent had mapped until then.
std::map<std::uint32_t, std::int64_t> find_forked(const model::Job& job) {
  std::map<std::pair<std::uint32_t, std::int32_t>, std::int64_t> forks;  // ns, by parent and pid
  for (std::uint32_t process = 0; process < job.processes.size(); ++process)
    model::for_each(job.processes[process].file, {trace::Operation::kFork},
                    [&](model::EventPlace, const trace::Record& record) {
                      auto fork = trace::payload_of<trace::payload::Process>(record);
                      if (fork.pid > 0) forks[{process, fork.pid}] = job.time_ns(process, record.begin);
                    });
  std::map<std::uint32_t, std::int64_t> forked;
  for (std::uint32_t child = 0; child < job.processes.size(); ++child) {
    std::int32_t parent = job.processes[child].parent;
    auto fork = forks.find({static_cast<std::uint32_t>(parent), job.processes[child].header().pid});
    if (parent >= 0 && fork != forks.end()) forked[child] = fork->second;
  }
  return forked;
}

using Pairs = std::set<std::pair<std::uint32_t, std::uint32_t>>;

// Of whoever makes one-sided calls with all that its communicator has.
void add_windows(const model::Job& job, Pairs& pairs) {
  std::map<std::uint64_t, std::set<std::uint32_t>> members;  // processes by communicator's id
  for (std::uint32_t process = 0; process < job.processes.size(); ++process)
    for (const model::Membership& member : job.processes[process].memberships)
      members[member.id].insert(process);
  for (std::uint32_t process = 0; process < job.processes.size(); ++process) {
    std::set<std::uint32_t> used;  // communicators by number
    model::for_each(job.processes[process].file, {trace::Operation::kOneSided},
                    [&](model::EventPlace, const trace::Record& record) {
                      used.insert(trace::payload_of<trace::payload::Collective>(record).communicator);
                    });
    for (const model::Membership& member : job.processes[process].memberships)
      for (std::uint32_t other :
           used.count(member.communicator) ? members[member.id] : std::set<std::uint32_t>{})
        if (other != process) pairs.insert(std::minmax(process, other));
  }
}

}  // namespace

Pairs find_shared_memory(const model::Job& job) {
  std::vector<Held> held;
  for (std::uint32_t process = 0; process < job.processes.size(); ++process)
    held.push_back(Mappings(job, process).find());
  auto forked = find_forked(job);
  for (bool more = true; more;) {  // from parents to children's children
    more = false;
    for (auto [child, forked_ns] : forked)
      for (auto [memory, since_ns] : held[static_cast<std::uint32_t>(job.processes[child].parent)])
        if (since_ns <= forked_ns) more = held[child].emplace(memory, since_ns).second || more;
  }
  std::map<Memory, std::vector<std::uint32_t>> holders;
  for (std::uint32_t process = 0; process < held.size(); ++process)
    for (const auto& [memory, since_ns] : held[process]) holders[memory].push_back(process);
  Pairs pairs;
  add_windows(job, pairs);
  for (const auto& [memory, processes] : holders)
    for (std::size_t i = 0; i < processes.size(); ++i)
      for (std::size_t k = i + 1; k < processes.size(); ++k) pairs.emplace(processes[i], processes[k]);
  return pairs;
}

}  // namespace ddpscope::ordering
