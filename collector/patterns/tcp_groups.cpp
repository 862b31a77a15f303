// Ends of connections first, then pairs of ends, then groups of pairs.
#include "collector/patterns/tcp_groups.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "trace/streams.h"

namespace ddpscope::patterns {
namespace {

// Stores, barriers and heartbeats exchange tens of bytes at a time, gradients kilobytes.
constexpr std::uint64_t kMoreThanMessages = 1024;
constexpr std::uint64_t kMoreThanAMessage = 256;  // on the average of a run of calls
constexpr std::size_t kLeastRounds = 3;
constexpr double kAboutEqual = 1.5;  // what a model is handed out with comes on top of a few rounds
constexpr double kLittle = 0.15;     // of what a group's connections carry

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// One end of a TCP connection, in a rank's own process.
struct End {
  std::int32_t rank;
  std::uint32_t host;
  std::string_view local, peer;
  Traffic traffic;
  std::int64_t lost_ns = kNever;  // when it was found that the peer has given it up, or is gone

  bool carries_more_than_messages() const { return !traffic.sent.empty() || !traffic.received.empty(); }
  std::uint64_t bytes() const { return traffic.bytes_sent + traffic.bytes_received; }
  std::int64_t first_ns() const {
    auto begin = [](const std::vector<Transfer>& all) { return all.empty() ? kNever : all.front().at_ns; };
    return std::min(begin(traffic.sent), begin(traffic.received));
  }
  std::int64_t last_ns() const {
    auto end = [](const std::vector<Transfer>& all) { return all.empty() ? 0 : all.back().until_ns; };
    return std::max(end(traffic.sent), end(traffic.received));
  }
};

// Of one process. TCP is told from the pipes and local sockets of loader workers by its addresses.
class TcpTraffic {
 public:
  TcpTraffic(const model::Job& job, std::uint32_t process) : job_(job), process_(process) {}

  void see(model::EventPlace place, const trace::Record& record) {
    const trace::CallInfo* info = trace::find_call(record.call);
    if (!info) return;
    if (info->payload == trace::PayloadKind::kConnection)
      meet(trace::payload_of<trace::payload::Connection>(record));
    if (info->operation == trace::Operation::kStreamClose) give_up(place, record);
    bool sends = info->operation == trace::Operation::kStreamSend;
    if (!sends && info->operation != trace::Operation::kStreamReceive) return;
    auto io = trace::payload_of<trace::payload::StreamIo>(record);
    auto socket = sockets_.find(io.inode);
    if (socket == sockets_.end()) return;
    Traffic& traffic = socket->second.traffic;
    bool failed = io.error && io.error != EAGAIN && io.error != EINTR;
    if (failed || (io.flags & trace::kStreamEnded))
      socket->second.lost_ns = std::min(socket->second.lost_ns, job_.end_ns(process_, record));
    std::uint64_t& bytes = sends ? traffic.bytes_sent : traffic.bytes_received;
    bytes = std::max(bytes + io.bytes, io.offset + io.bytes);  // the ring may have lost what was before
    if (sends && io.bytes) traffic.last_sent_ns = job_.begin_ns({process_, place});
    if (io.bytes < kMoreThanMessages || io.bytes < kMoreThanAMessage * io.count) return;
    (sends ? traffic.sent : traffic.received)
        .push_back({job_.begin_ns({process_, place}), job_.end_ns({process_, place}), io.bytes});
  }

  void take_ends(std::vector<End>& ends) {
    for (auto& [inode, end] : sockets_) ends.push_back(std::move(end));
  }

 private:
  void meet(const trace::payload::Connection& connection) {
    const model::Process& process = job_.processes[process_];
    std::string_view local = process.file.string(connection.local),
                     peer = process.file.string(connection.peer);
    auto is_tcp = [](std::string_view address) { return !address.empty() && !address.starts_with("unix:"); };
    if (!is_tcp(local) && !is_tcp(peer)) return;
    End& end =
        sockets_.try_emplace(connection.inode, End{process.rank, process.host, {}, {}, {}}).first->second;
    if (!local.empty()) end.local = local;
    if (!peer.empty()) end.peer = peer;
  }

  void give_up(model::EventPlace place, const trace::Record& record) {
    auto closed = trace::payload_of<trace::payload::StreamIo>(record);
    auto socket = sockets_.find(closed.inode);
    if (socket == sockets_.end() || !(closed.flags & trace::kSendingEnds)) return;
    Traffic& traffic = socket->second.traffic;
    if (traffic.given_up) return;
    traffic.given_up = {process_, place};
    traffic.given_up_ns = job_.begin_ns(process_, record);
  }

  const model::Job& job_;
  std::uint32_t process_;
  std::map<std::uint64_t, End> sockets_;  // by inode
};

std::vector<End> find_ends(const model::Job& job) {
  std::vector<End> ends;
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    const model::Process& process = job.processes[i];
    if (process.role != model::Role::kRank) continue;
    TcpTraffic traffic(job, i);
    constexpr auto kTalking =
        trace::OperationSet::range(trace::Operation::kSocket, trace::Operation::kStoreKey);
    model::for_each_in_time(
        process.file, kTalking,
        [&](model::EventPlace place, const trace::Record& record) { traffic.see(place, record); });
    traffic.take_ends(ends);
  }
  return ends;
}

struct Link {
  const End *a, *b;
  bool busy = true;

  std::uint64_t bytes() const { return std::max(a->bytes(), b->bytes()); }
  std::int64_t first_ns() const { return std::min(a->first_ns(), b->first_ns()); }
  std::int64_t last_ns() const { return std::max(a->last_ns(), b->last_ns()); }
};

// An address of the loopback device is one of a host.
std::tuple<std::uint32_t, std::string_view, std::string_view> name_of(const End& end, bool seen_by_peer) {
  bool loopback = end.local.starts_with("127.") || end.local.starts_with("::1");
  std::uint32_t host = loopback ? end.host + 1 : 0;
  return seen_by_peer ? std::tuple(host, end.peer, end.local) : std::tuple(host, end.local, end.peer);
}

struct Stretch {
  std::int64_t from_ns, until_ns;
};

// The time in which a rank exchanges most of what it does: without the tenths at both ends. A model is handed
// out long before the first gradients, and the last call may wait for a rank that never comes.
Stretch main_stretch(std::vector<std::int64_t> times) {
  constexpr std::size_t kOneIn = 10;
  std::sort(times.begin(), times.end());
  std::size_t off = times.size() / kOneIn;
  return {times[off], times[times.size() - 1 - off]};
}

// For half of that time at least, on both sides.
void mark_busy(std::vector<Link>& links) {
  std::map<std::int32_t, std::vector<std::int64_t>> times;  // by rank
  for (const Link& link : links)
    for (const End* end : {link.a, link.b})
      for (const auto* transfers : {&end->traffic.sent, &end->traffic.received})
        for (const Transfer& transfer : *transfers) times[end->rank].push_back(transfer.at_ns);
  std::map<std::int32_t, Stretch> of_rank;
  for (auto& [rank, all] : times) of_rank[rank] = main_stretch(std::move(all));
  for (Link& link : links)
    for (const End* end : {link.a, link.b}) {
      Stretch all = of_rank.at(end->rank);
      std::int64_t shared = std::min(link.last_ns(), all.until_ns) - std::max(link.first_ns(), all.from_ns);
      link.busy = link.busy && shared * 2 >= all.until_ns - all.from_ns;
    }
}

std::vector<Link> find_links(const std::vector<End>& ends) {
  std::map<std::tuple<std::uint32_t, std::string_view, std::string_view>, const End*> by_name;
  for (bool carrying : {true, false})  // addresses may be used again
    for (const End& end : ends)
      if (end.carries_more_than_messages() == carrying && !end.local.empty() && !end.peer.empty())
        by_name.emplace(name_of(end, false), &end);
  std::vector<Link> links;
  for (const auto& [name, end] : by_name) {
    auto other = by_name.find(name_of(*end, true));
    if (other != by_name.end() && end->rank < other->second->rank) links.push_back({end, other->second});
  }
  return links;
}

// By rank: of the first connection to another rank that it closed, if by then it had lost none.
std::map<std::int32_t, const Traffic*> find_departures(const std::vector<End>& ends,
                                                       const std::vector<Link>& links) {
  std::set<const End*> to_ranks;  // stores are others'
  for (const Link& link : links) to_ranks.insert({link.a, link.b});
  std::map<std::int32_t, const Traffic*> departures;
  std::map<std::int32_t, std::int64_t> lost_ns;
  for (const End& end : ends) {
    if (!end.carries_more_than_messages() && !to_ranks.contains(&end)) continue;
    std::int64_t& lost = lost_ns.try_emplace(end.rank, kNever).first->second;
    lost = std::min(lost, end.lost_ns);
    if (!end.traffic.given_up) continue;
    const Traffic*& first = departures.try_emplace(end.rank, &end.traffic).first->second;
    if (end.traffic.given_up_ns < first->given_up_ns) first = &end.traffic;
  }
  std::erase_if(departures,
                [&](const auto& own) { return own.second->given_up_ns >= lost_ns.at(own.first); });
  return departures;
}

// Ranks that are connected by links of about equal amounts.
struct Mesh {
  std::set<std::int32_t> ranks;
  std::vector<const Link*> links;
  std::uint64_t bytes = 0;  // of the least busy of its links, before others are added

  bool joins(const Link& link) const { return ranks.contains(link.a->rank) && ranks.contains(link.b->rank); }
};

void add_class(std::vector<const Link*> links, std::vector<Mesh>& meshes) {
  while (!links.empty()) {
    Mesh mesh{{links.front()->a->rank}, {}, links.front()->bytes()};
    for (std::size_t before = 0; before != links.size();) {
      before = links.size();
      std::erase_if(links, [&](const Link* link) {
        if (!mesh.ranks.contains(link->a->rank) && !mesh.ranks.contains(link->b->rank)) return false;
        mesh.ranks.insert({link->a->rank, link->b->rank});
        mesh.links.push_back(link);
        mesh.bytes = std::min(mesh.bytes, link->bytes());
        return true;
      });
    }
    meshes.push_back(std::move(mesh));
  }
}

std::vector<Mesh> find_meshes(const std::vector<Link>& links) {
  std::vector<const Link*> sorted;
  for (const Link& link : links) sorted.push_back(&link);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Link* a, const Link* b) { return a->bytes() > b->bytes(); });
  std::vector<Mesh> meshes;
  std::vector<const Link*> of_class, rest;
  auto little = [&](const Link& link) {
    return std::any_of(meshes.begin(), meshes.end(), [&](const Mesh& mesh) {
      return mesh.joins(link) &&
             static_cast<double>(link.bytes()) < kLittle * static_cast<double>(mesh.bytes);
    });
  };
  for (const Link* link : sorted) {
    bool next_class = !of_class.empty() && static_cast<double>(of_class.back()->bytes()) >
                                               kAboutEqual * static_cast<double>(link->bytes());
    if (next_class) add_class(std::exchange(of_class, {}), meshes);
    (link->busy && !little(*link) ? of_class : rest).push_back(link);
  }
  add_class(std::move(of_class), meshes);
  for (const Link* link : rest) {
    auto mesh = std::find_if(meshes.begin(), meshes.end(), [&](const Mesh& one) { return one.joins(*link); });
    if (mesh != meshes.end()) mesh->links.push_back(link);
  }
  return meshes;
}

void add(const std::vector<Transfer>& more, std::vector<Transfer>& all) {
  std::size_t middle = all.size();
  all.insert(all.end(), more.begin(), more.end());
  std::inplace_merge(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(middle), all.end(),
                     [](const Transfer& a, const Transfer& b) { return a.at_ns < b.at_ns; });
}

DataParallelGroup group_of(const std::vector<const End*>& ends) {
  DataParallelGroup group;
  for (const End* end : ends) {
    Traffic& traffic = group.traffic[end->rank];
    add(end->traffic.sent, traffic.sent);
    add(end->traffic.received, traffic.received);
    traffic.bytes_sent += end->traffic.bytes_sent;
    traffic.bytes_received += end->traffic.bytes_received;
    traffic.last_sent_ns = std::max(traffic.last_sent_ns, end->traffic.last_sent_ns);
  }
  for (const auto& [rank, traffic] : group.traffic) {
    std::vector<std::int64_t> times;
    for (const Transfer& transfer : traffic.sent) {
      times.push_back(transfer.at_ns);
      times.push_back(transfer.until_ns);
    }
    std::sort(times.begin(), times.end());
    if (times.size() >= 2 * kLeastRounds) group.of_rank[rank] = {ReductionTimes(std::move(times)), 0};
  }
  std::erase_if(group.traffic, [&](const auto& own) { return !group.of_rank.contains(own.first); });
  return group;
}

}  // namespace

std::vector<DataParallelGroup> find_tcp_groups(const model::Job& job) {
  const std::vector<End> ends = find_ends(job);
  std::vector<Link> links = find_links(ends);
  const auto departures = find_departures(ends, links);
  std::erase_if(links, [](const Link& link) {
    return !link.a->carries_more_than_messages() || !link.b->carries_more_than_messages();
  });
  mark_busy(links);
  std::vector<DataParallelGroup> groups;
  auto add_group = [&](const std::vector<const End*>& own) {
    DataParallelGroup group = group_of(own);
    for (auto& [rank, traffic] : group.traffic)
      if (auto departure = departures.find(rank); departure != departures.end()) {
        traffic.given_up = departure->second->given_up;
        traffic.given_up_ns = departure->second->given_up_ns;
      }
    if (group.of_rank.size() > 1) groups.push_back(std::move(group));
  };
  std::vector<const End*> own;
  for (const Mesh& mesh : find_meshes(links)) {
    own.clear();
    for (const Link* link : mesh.links) own.insert(own.end(), {link->a, link->b});
    add_group(own);
  }
  if (!links.empty()) return groups;
  own.clear();
  for (const End& end : ends)
    if (end.carries_more_than_messages()) own.push_back(&end);
  add_group(own);
  return groups;
}

}  // namespace ddpscope::patterns
