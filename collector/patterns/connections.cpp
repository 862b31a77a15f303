// One union of sets, over ranks, other processes and one node for all that is outside of the trace.
#include "collector/patterns/connections.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "collector/ordering/exchanges.h"
#include "collector/ordering/shared_memory.h"
#include "collector/ordering/stream_ends.h"

namespace ddpscope::patterns {
namespace {

using model::Job;
using ordering::EndId;
using ordering::StreamEnd;
using trace::Operation;

class Sets {
 public:
  explicit Sets(std::size_t nodes) : parent_(nodes) { std::iota(parent_.begin(), parent_.end(), 0u); }
  std::size_t find(std::size_t node) const {
    while (parent_[node] != node) node = parent_[node];
    return node;
  }
  void join(std::size_t a, std::size_t b) { parent_[find(b)] = find(a); }

 private:
  std::vector<std::size_t> parent_;
};

// Nodes: one a rank, then one a process (of those that are no rank's), then what is outside.
class Network {
 public:
  explicit Network(const Job& job)
      : job_(job), ranks_(job.ranks()), sets_(ranks_.size() + job.processes.size() + 1) {}

  std::size_t outside() const { return ranks_.size() + job_.processes.size(); }
  std::size_t of_rank(std::int32_t rank) const {
    auto found = std::lower_bound(ranks_.begin(), ranks_.end(), rank);
    return found == ranks_.end() || *found != rank ? outside()
                                                   : static_cast<std::size_t>(found - ranks_.begin());
  }
  std::size_t of_process(std::uint32_t process) const {
    std::int32_t rank = job_.processes[process].rank;
    return rank < 0 ? ranks_.size() + process : of_rank(rank);
  }
  bool is_rank(std::size_t node) const { return node < ranks_.size(); }
  void join(std::size_t a, std::size_t b) { sets_.join(a, b); }

  Parts parts() const {
    std::map<std::size_t, std::vector<std::int32_t>> by_root;
    for (std::size_t i = 0; i < ranks_.size(); ++i) by_root[sets_.find(i)].push_back(ranks_[i]);
    Parts parts;
    for (auto& [root, ranks] : by_root) parts.push_back(std::move(ranks));
    std::sort(parts.begin(), parts.end());
    return parts;
  }

 private:
  const Job& job_;
  std::vector<std::int32_t> ranks_;
  Sets sets_;
};

// A member that left no trace is outside; so is whoever a communicator was made with before the recording.
void join_communicators(const Job& job, Network& network, bool outside) {
  std::map<std::uint64_t, std::uint32_t> first;
  for (std::uint32_t process = 0; process < job.processes.size(); ++process) {
    std::size_t node = network.of_process(process);
    for (const model::Membership& member : job.processes[process].memberships) {
      if (member.size < 2) continue;
      auto [known, fresh] = first.emplace(member.id, process);
      network.join(network.of_process(known->second), node);
      if (member.size == job.world_size && member.parent == 0)  // one process may hold several ranks
        network.join(network.of_rank(member.rank), node);
    }
    if (outside && job.processes[process].file.health(trace::Health::unknown_communicators))
      network.join(network.outside(), node);
  }
}

class Streams {
 public:
  Streams(const Job& job, const std::vector<Training>& trainings, Network& network)
      : job_(job), ends_(ordering::find_stream_ends(job)), network_(network) {
    for (const Training& training : trainings) trains_from_ns_[training.rank] = training.first_ns;
    for (std::uint32_t process = 0; process < job.processes.size(); ++process) find_joined(process);
  }

  void join_inside() {
    for (const ordering::Joint& joint : ends_.joints)
      join(joint.connect.thread.process, joint.accept.thread.process);
    for (const auto& [id, end] : ends_.ends)
      if (end.peer) join_flow(id, end, ends_.ends.at(*end.peer));
  }

  void join_outside() {
    for (const auto& [id, process] : joined_) {
      auto end = ends_.ends.find(id);
      if (end == ends_.ends.end() || !end->second.peer) leave(process);
    }
    for (const auto& [id, end] : ends_.ends)
      if (!end.peer && !joined_.contains(id)) hear_from_strangers(end);
  }

 private:
  // Connections that came about, to whomever.
  void find_joined(std::uint32_t process) {
    constexpr trace::OperationSet kJoining{Operation::kConnect, Operation::kAccept};
    const trace::TraceFile& file = job_.processes[process].file;
    model::for_each(file, kJoining, [&](model::EventPlace, const trace::Record& record) {
      auto connection = trace::payload_of<trace::payload::Connection>(record);
      EndId id{job_.processes[process].host, connection.inode};
      bool under_way = connection.error == EINPROGRESS || connection.error == EALREADY;
      auto end = ends_.ends.find(id);
      bool used = end != ends_.ends.end() && !(end->second.sent.empty() && end->second.received.empty());
      if (!connection.error || connection.error == EISCONN || (under_way && used))
        joined_.emplace(id, process);
    });
  }

  bool arrives_in_training(const ordering::Transfer& received) const {
    auto from = trains_from_ns_.find(job_.processes[received.call.thread.process].rank);
    return from != trains_from_ns_.end() && received.call.end_ns > from->second;
  }

  void join(std::uint32_t a, std::uint32_t b) {
    network_.join(network_.of_process(a), network_.of_process(b));
  }
  void leave(std::uint32_t process) { network_.join(network_.of_process(process), network_.outside()); }

  // What is sent into one end is received from the other.
  void join_flow(EndId from, const StreamEnd& sending, const StreamEnd& receiving) {
    bool joined = joined_.contains(from) || joined_.contains(*sending.peer);
    std::set<std::uint32_t> senders;
    for (const ordering::Transfer& sent : sending.sent) senders.insert(sent.call.thread.process);
    for (const ordering::Transfer& received : receiving.received)
      for (std::uint32_t sender : senders) {
        std::uint32_t receiver = received.call.thread.process;
        bool ranks =
            network_.is_rank(network_.of_process(sender)) && network_.is_rank(network_.of_process(receiver));
        if (ranks || joined || arrives_in_training(received)) join(sender, receiver);
      }
  }

  // Ends that were inherited: whoever is at the other end left no trace. Input from a pipe is none, unless it
  // goes on; a pair that is written to as well is (a process manager's).
  void hear_from_strangers(const StreamEnd& end) {
    for (const ordering::Transfer& received : end.received)
      if (!end.sent.empty() || arrives_in_training(received)) leave(received.call.thread.process);
  }

  const Job& job_;
  ordering::StreamEnds ends_;
  Network& network_;
  std::map<EndId, std::uint32_t> joined_;                // and a process that has it
  std::map<std::int32_t, std::int64_t> trains_from_ns_;  // by rank
};

bool opens_infiniband(const Job& job, std::uint32_t process) {
  bool found = false;
  const trace::TraceFile& file = job.processes[process].file;
  model::for_each(file, [&](model::EventPlace, const trace::Record& record) {
    const trace::CallInfo* info = trace::find_call(record.call);
    if (found || !info || info->payload != trace::PayloadKind::kFileOpen) return;
    auto open = trace::payload_of<trace::payload::FileOpen>(record);
    found = !open.error && file.string(open.path).starts_with("/dev/infiniband/");
  });
  return found;
}

// Who writes what since it trains, and who looks for it or opens it afterwards.
class FileTraffic {
 public:
  FileTraffic(const files::SharedNames& names, const std::vector<Training>& trainings) : names_(names) {
    for (const Training& training : trainings) trains_from_ns_[training.rank] = training.first_ns;
    for (const files::FileEvent& event : names.events)
      if (!event.error) see(event);
  }

  void join(Network& network) const {
    for (const auto& [name, looks] : looked_ns_) {
      if (!may_carry(name)) continue;
      auto writes = written_ns_.find(name);
      if (writes == written_ns_.end()) continue;
      for (auto [reader, look] : looks)
        for (auto [writer, write] : writes->second)
          if (look >= write && !writes->second.contains(reader))
            network.join(network.of_rank(reader), network.of_rank(writer));
    }
  }

 private:
  using Times = std::map<std::int32_t, std::int64_t>;  // ns, by rank

  // Not a cache, say, that one job leaves to the next. What lies in memory ends with the job.
  bool may_carry(files::Name name) const {
    return names_.judged[name] || names_.paths[name].starts_with("/dev/shm/");
  }

  void see(const files::FileEvent& event) {
    auto from = trains_from_ns_.find(event.rank);
    bool trains = from != trains_from_ns_.end() && event.begin_ns >= from->second;
    bool opens = event.operation == Operation::kOpen;
    bool writes = opens && (event.flags & O_ACCMODE) != O_RDONLY;
    if (trains && writes) written_ns_[event.name].emplace(event.rank, event.begin_ns);
    if (trains && event.target != files::kNoName)
      written_ns_[event.target].emplace(event.rank, event.begin_ns);
    if (files::is_look(event) && !writes) looked_ns_[event.name][event.rank] = event.begin_ns;
  }

  const files::SharedNames& names_;
  Times trains_from_ns_;
  std::map<files::Name, Times> written_ns_;  // the first, since its rank trains
  std::map<files::Name, Times> looked_ns_;   // the last
};

// Ranks that take one lock, one of them while it trains, may take turns.
void join_by_locks(const Job& job, const std::vector<Training>& trainings, Network& network) {
  using Inode = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>;  // host, device, inode
  std::map<std::int32_t, std::int64_t> trains_from_ns;
  for (const Training& training : trainings) trains_from_ns[training.rank] = training.first_ns;
  std::map<Inode, std::set<std::int32_t>> takers, in_training;
  for (std::uint32_t process = 0; process < job.processes.size(); ++process) {
    auto from = trains_from_ns.find(job.processes[process].rank);
    if (from == trains_from_ns.end()) continue;
    const trace::TraceFile& file = job.processes[process].file;
    model::for_each(file, {Operation::kLock}, [&](model::EventPlace, const trace::Record& record) {
      auto lock = trace::payload_of<trace::payload::FileLock>(record);
      Inode inode{job.processes[process].host, lock.device, lock.inode};
      takers[inode].insert(from->first);
      if (job.time_ns(process, record.begin) >= from->second) in_training[inode].insert(from->first);
    });
  }
  for (const auto& [inode, trainers] : in_training)
    for (std::int32_t taker : takers.at(inode))
      network.join(network.of_rank(*trainers.begin()), network.of_rank(taker));
}

}  // namespace

Parts parts_by_communicators(const Job& job) {
  Network network(job);
  join_communicators(job, network, false);
  return network.parts();
}

Connections find_connections(const Job& job, const files::SharedNames& names,
                             const std::vector<Training>& trainings) {
  Network network(job);
  Streams streams(job, trainings, network);
  join_communicators(job, network, false);
  streams.join_inside();
  Connections connections{network.parts(), {}};
  for (auto [a, b] : ordering::find_shared_memory(job))
    network.join(network.of_process(a), network.of_process(b));
  for (const auto& [id, uses] : ordering::find_exchanges(job))
    for (const ordering::ExchangeUse& use : uses)
      network.join(network.of_process(uses.front().call.thread.process),
                   network.of_process(use.call.thread.process));
  FileTraffic(names, trainings).join(network);
  join_by_locks(job, trainings, network);
  join_communicators(job, network, true);
  streams.join_outside();
  for (std::uint32_t process = 0; process < job.processes.size(); ++process)
    if (opens_infiniband(job, process)) network.join(network.of_process(process), network.outside());
  connections.at_most = network.parts();
  return connections;
}

}  // namespace ddpscope::patterns
