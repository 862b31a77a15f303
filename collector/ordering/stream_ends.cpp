// Reads connections and transfers of all processes, then pairs.
#include "collector/ordering/stream_ends.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace ddpscope::ordering {
namespace {

using model::Job;
using trace::Operation;
using trace::Record;
namespace payload = trace::payload;

struct Joining {
  EndId end;
  Span call;
  bool done;  // not under way still
  std::optional<Span> listen;
};

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address.starts_with("[0:0:0:0:0:0:0:1]");
}

// One process only sends, another only receives, through one inode.
bool looks_like_a_pipe(const StreamEnd& end) {
  std::set<std::uint32_t> senders;
  for (const Transfer& sent : end.sent) senders.insert(sent.call.thread.process);
  return !end.peer && !senders.empty() && !end.received.empty() &&
         std::none_of(end.received.begin(), end.received.end(), [&](const Transfer& received) {
           return senders.count(received.call.thread.process) > 0;
         });
}

bool in_order(const StoreRequest& a, const StoreRequest& b) {
  return std::pair(a.process, a.own_offset) < std::pair(b.process, b.own_offset);
}

class Reader {
 public:
  Reader(const Job& job, StreamEnds& out) : job_(job), out_(out) {}

  void read(std::uint32_t process) {
    process_ = process;
    listening_.clear();
    constexpr auto kTalking = trace::OperationSet::range(Operation::kSocket, Operation::kStoreKey) |
                              trace::OperationSet{Operation::kOpen};
    model::for_each_in_time(job_.processes[process].file, kTalking,
                            [&](model::EventPlace place, const Record& record) { see(place, record); });
  }

  bool is_socket(EndId end) const { return sockets_.count(end) > 0; }

  void pair() {
    for (auto& [addresses, accepts] : accepts_) {
      auto connects = connects_.find(addresses);
      if (connects != connects_.end()) pair(connects->second, accepts, Trust::kSeen);
    }
    pair_by_inode();
    for (auto& [path, accepts] : unix_accepts_) {
      auto connects = unix_connects_.find(path);
      if (connects != unix_connects_.end()) pair(connects->second, accepts, Trust::kUnseen);
    }
  }

 private:
  EndId end(std::uint64_t inode) const { return {job_.processes[process_].host, inode}; }
  Span span(model::EventPlace place, const Record& record) const {
    model::EventRef event{process_, place};
    return {{process_, record.thread}, job_.begin_ns(event), job_.end_ns(event)};
  }

  void see(model::EventPlace place, const Record& record) {
    const trace::CallInfo* info = trace::find_call(record.call);
    if (info && info->payload == trace::PayloadKind::kConnection && info->operation != Operation::kPair) {
      auto socket = end(trace::payload_of<payload::Connection>(record).inode);
      sockets_.insert(socket);
      hold(socket, record);
      out_.ends[socket].made = true;
    }
    switch (trace::operation_of(record.call)) {
      case Operation::kStreamSend:
      case Operation::kStreamReceive:
        return moved(place, record);
      case Operation::kStoreKey:
        return named(record);
      case Operation::kOpen:
        return opened(info->payload, place, record);
      case Operation::kPair:
        return paired(place, record);
      case Operation::kStreamClose:
        return given_up(place, record);
      case Operation::kConnect:
        return connecting(place, record);
      case Operation::kAccept:
        return accepted(place, record);
      case Operation::kListen:
        if (record.call == static_cast<std::uint16_t>(trace::Call::listen))
          listening_[trace::payload_of<payload::Connection>(record).fd] = span(place, record);
        return;
      default:
        return;
    }
  }

  void moved(model::EventPlace place, const Record& record) {
    auto io = trace::payload_of<payload::StreamIo>(record);
    hold(end(io.inode), record);
    if (io.flags & trace::kStreamEnded) out_.ends[end(io.inode)].found_ended.push_back(span(place, record));
    if (io.flags & trace::kDatagrams) out_.ends[end(io.inode)].datagrams = true;
    if (!io.bytes) return;
    bool sends = trace::operation_of(record.call) == Operation::kStreamSend;
    StreamEnd& own = out_.ends[end(io.inode)];
    (sends ? own.sent : own.received).push_back({span(place, record), io.offset, io.bytes, io.count});
  }

  void opened(trace::PayloadKind kind, model::EventPlace place, const Record& record) {
    if (kind != trace::PayloadKind::kFileOpen) return;
    auto opening = trace::payload_of<payload::FileOpen>(record);
    if (opening.error || !S_ISFIFO(opening.mode)) return;
    int access = static_cast<int>(opening.flags) & O_ACCMODE;
    bool waits = access == O_WRONLY || (access == O_RDONLY && !(opening.flags & O_NONBLOCK));
    out_.ends[end(opening.inode)].opened.push_back(
        {span(place, record), access != O_WRONLY, access != O_RDONLY, waits});
  }

  void named(const Record& record) {
    auto named = trace::payload_of<payload::StoreKey>(record);
    std::string key(job_.processes[process_].file.string(named.key));
    out_.ends[end(named.inode)].requests.push_back(
        {process_, named.offset, static_cast<trace::StoreOperation>(named.operation), std::move(key)});
  }

  void hold(EndId id, const Record& record) { out_.ends[id].holders[process_].insert(record.thread); }

  void given_up(model::EventPlace place, const Record& record) {
    auto io = trace::payload_of<payload::StreamIo>(record);
    hold(end(io.inode), record);
    if (io.flags & trace::kSendingEnds) out_.ends[end(io.inode)].given_up.push_back(span(place, record));
  }

  void paired(model::EventPlace place, const Record& record) {
    auto pair = trace::payload_of<payload::Connection>(record);
    if (pair.error) return;
    std::int64_t ns = job_.begin_ns({process_, place});
    out_.ends[end(pair.inode)].paired_ns = out_.ends[end(pair.peer_inode)].paired_ns = ns;
    hold(end(pair.inode), record);
    hold(end(pair.peer_inode), record);
    out_.ends[end(pair.inode)].made = out_.ends[end(pair.peer_inode)].made = true;
    out_.ends[end(pair.inode)].peer = end(pair.peer_inode);
    out_.ends[end(pair.peer_inode)].peer = end(pair.inode);
  }

  // Loopback addresses are the host's own.
  std::string on_network(std::string_view server) const {
    std::string text(server);
    if (is_loopback(server)) text += " " + std::to_string(job_.processes[process_].host);
    return text;
  }
  std::string key(std::string_view client, std::string_view server) const {
    return std::string(client) + " " + on_network(server);
  }
  std::string host_path(std::string_view path) const {
    return std::to_string(job_.processes[process_].host) + std::string(path);
  }

  void connecting(model::EventPlace place, const Record& record) {
    auto connection = trace::payload_of<payload::Connection>(record);
    bool under_way = connection.error == EINPROGRESS || connection.error == EALREADY;
    if (connection.error && !under_way && connection.error != EISCONN) return;
    const trace::TraceFile& file = job_.processes[process_].file;
    std::string_view peer = file.string(connection.peer);
    Joining joining{end(connection.inode), span(place, record), record.end && !under_way, {}};
    if (peer.starts_with("unix:")) {
      unix_connects_[host_path(peer)].push_back(joining);
    } else if (!peer.empty()) {
      out_.ends[joining.end].connected_to = on_network(peer);
      connects_[key(file.string(connection.local), peer)].push_back(joining);
    }
  }

  void accepted(model::EventPlace place, const Record& record) {
    auto connection = trace::payload_of<payload::Connection>(record);
    if (connection.error) return;
    const trace::TraceFile& file = job_.processes[process_].file;
    std::string_view local = file.string(connection.local);
    Joining joining{end(connection.inode), span(place, record), true, {}};
    if (auto known = listening_.find(connection.peer_fd); known != listening_.end())
      joining.listen = known->second;
    if (connection.peer_inode) {
      unix_peers_.emplace_back(joining, end(connection.peer_inode));
    } else if (local.starts_with("unix:")) {
      unix_accepts_[host_path(local)].push_back(joining);
    } else if (!local.empty()) {
      out_.ends[joining.end].accepted = true;
      accepts_[key(file.string(connection.peer), local)].push_back(joining);
    }
  }

  // Where the kernel has told who is at the other end.
  void pair_by_inode() {
    std::map<EndId, const Joining*> connects;
    for (auto& [path, joinings] : unix_connects_)
      for (const Joining& connect : joinings) connects[connect.end] = &connect;
    for (const auto& [accept, peer] : unix_peers_) {
      if (!out_.ends.contains(peer)) continue;  // it left no trace
      out_.ends[accept.end].peer = peer;
      out_.ends[peer].peer = accept.end;
      if (auto connect = connects.find(peer); connect != connects.end())
        out_.joints.push_back({connect->second->call, accept.call, accept.listen, connect->second->done});
    }
    for (auto& [path, joinings] : unix_connects_)
      std::erase_if(joinings,
                    [&](const Joining& connect) { return out_.ends[connect.end].peer.has_value(); });
  }

  // An address pair is used again: each accept belongs to the first connect that is left and began before.
  void pair(std::vector<Joining>& connects, std::vector<Joining>& accepts, Trust trust) {
    auto earlier = [](const Joining& a, const Joining& b) { return a.call.begin_ns < b.call.begin_ns; };
    std::stable_sort(connects.begin(), connects.end(), earlier);
    std::stable_sort(accepts.begin(), accepts.end(), earlier);
    bool several = accepts.size() > 1 ||
                   std::any_of(connects.begin(), connects.end(),
                               [&](const Joining& each) { return each.end != connects.front().end; });
    std::set<EndId> met;
    auto next = connects.begin();
    for (const Joining& accept : accepts) {
      while (next != connects.end() && !met.insert(next->end).second) ++next;  // tried again
      if (next == connects.end()) break;
      std::int64_t error = job_.clock_error_between(next->call.thread.process, accept.call.thread.process);
      if (next->call.begin_ns > accept.call.end_ns + error) continue;
      StreamEnd& client = out_.ends[next->end];
      StreamEnd& server = out_.ends[accept.end];
      client.peer = accept.end;
      server.peer = next->end;
      client.trust = server.trust = trust;
      client.reused = server.reused = several;
      if (trust == Trust::kSeen) out_.joints.push_back({next->call, accept.call, accept.listen, next->done});
      ++next;
    }
  }

  const Job& job_;
  StreamEnds& out_;
  std::uint32_t process_ = 0;
  std::set<EndId> sockets_;
  std::map<std::int32_t, Span> listening_;  // by descriptor
  std::vector<std::pair<Joining, EndId>> unix_peers_;
  std::map<std::string, std::vector<Joining>> connects_, accepts_, unix_connects_, unix_accepts_;
};

}  // namespace

std::vector<const StoreRequest*> StreamEnd::requests_in(const Transfer& message) const {
  StoreRequest wanted{message.call.thread.process, message.own_offset, {}, {}};
  std::vector<const StoreRequest*> found;
  for (auto request = std::lower_bound(requests.begin(), requests.end(), wanted, in_order);
       request != requests.end() && request->process == wanted.process &&
       request->own_offset < message.own_offset + message.bytes;
       ++request)
    found.push_back(&*request);
  return found;
}

StreamEnds find_stream_ends(const Job& job) {
  StreamEnds found;
  Reader reader(job, found);
  for (std::uint32_t process = 0; process < job.processes.size(); ++process) reader.read(process);
  reader.pair();
  for (auto& [id, end] : found.ends) {
    if (!reader.is_socket(id) && looks_like_a_pipe(end)) end.peer = id;
    auto earlier = [](const Transfer& a, const Transfer& b) { return a.call.begin_ns < b.call.begin_ns; };
    std::stable_sort(end.requests.begin(), end.requests.end(), in_order);
    std::stable_sort(end.sent.begin(), end.sent.end(), earlier);
    std::stable_sort(end.received.begin(), end.received.end(), earlier);
    std::stable_sort(end.opened.begin(), end.opened.end(), [](const PipeOpening& a, const PipeOpening& b) {
      return a.call.begin_ns < b.call.begin_ns;
    });
    std::stable_sort(end.given_up.begin(), end.given_up.end(),
                     [](const Span& a, const Span& b) { return a.begin_ns < b.begin_ns; });
    if (end.requests.empty()) continue;
    end.of_store = true;
    if (auto server = end.peer ? found.ends.find(*end.peer) : found.ends.end(); server != found.ends.end())
      server->second.of_store = true;
  }
  return found;
}

std::optional<std::uint32_t> rank_process(const model::Job& job, const StreamEnd& end) {
  for (const auto& [process, threads] : end.holders)
    if (job.processes[process].role == model::Role::kRank) return process;
  return {};
}

}  // namespace ddpscope::ordering
