// Requests and answers of each store in the server's order.
#include "collector/ordering/store_edges.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include "collector/ordering/accumulated.h"

namespace ddpscope::ordering {
namespace {

using trace::StoreOperation;
using Transfers = std::vector<Transfer>;

bool changes(const StoreRequest& request) {
  switch (request.operation) {
    case StoreOperation::kUnknown:
    case StoreOperation::kSet:
    case StoreOperation::kCompareSet:
    case StoreOperation::kAdd:
    case StoreOperation::kRemove:
    case StoreOperation::kAppend:
    case StoreOperation::kPush:
      return true;
    default:
      return false;
  }
}

bool is_told(const StoreRequest& request) {
  return request.operation != StoreOperation::kUnknown && !request.key.empty();
}

bool by_one_process(const Transfers& transfers) {
  return std::all_of(transfers.begin(), transfers.end(), [&](const Transfer& transfer) {
    return transfer.call.thread.process == transfers.front().call.thread.process;
  });
}

// The one that this byte is part of, in the count of the process that made them all.
const Transfer* find_byte(const Transfers& transfers, std::uint64_t byte) {
  auto next = std::upper_bound(
      transfers.begin(), transfers.end(), byte,
      [](std::uint64_t wanted, const Transfer& transfer) { return wanted < transfer.own_offset; });
  if (next == transfers.begin()) return nullptr;
  const Transfer& found = *std::prev(next);
  return byte - found.own_offset < found.bytes ? &found : nullptr;
}

class StoreEdges {
 public:
  StoreEdges(const model::Job& job, const StreamEnds& streams, Graph& graph)
      : job_(job), streams_(streams), graph_(graph) {}

  void add() {
    for (const auto& [id, end] : streams_.ends)
      if (const StreamEnd* server = end.requests.empty() ? nullptr : server_of(end))
        if (!end.connected_to.empty()) servers_[end.connected_to] = thread_of(*server);
    for (const auto& [id, end] : streams_.ends)
      if (!end.requests.empty()) read(end);
    for (auto& [server, events] : events_) order(events);
  }

 private:
  static constexpr ThreadId kOutside{~std::uint32_t{0}, 0};

  // A request, or an answer to one, when the server took or gave it.
  struct Event {
    std::int64_t ns;
    bool answers;
    Node node;
    const StoreRequest* request;
  };
  // What one send asked: one request a key.
  struct Message {
    std::int64_t begin_ns;
    std::vector<const StoreRequest*> requests;
  };

  // nullptr: it was not recorded.
  const StreamEnd* server_of(const StreamEnd& client) const {
    auto peer = client.peer ? streams_.ends.find(*client.peer) : streams_.ends.end();
    return peer != streams_.ends.end() && !peer->second.received.empty() ? &peer->second : nullptr;
  }
  static ThreadId thread_of(const StreamEnd& server) { return server.received.front().call.thread; }

  // Of whom the server's end was not recorded, and of other clients at that address it was: they ask one
  // store.
  ThreadId store_of(const StreamEnd& client, const StreamEnd* server) const {
    if (server) return thread_of(*server);
    auto known = servers_.find(client.connected_to);
    return known == servers_.end() ? kOutside : known->second;
  }

  void read(const StreamEnd& client) {
    const StreamEnd* server = server_of(client);
    std::vector<Event>& events = events_[store_of(client, server)];
    for (const Transfers* shared : {&client.sent, &client.received})
      if (!by_one_process(*shared)) server = nullptr;  // each counts its own bytes
    read_answers(client, server, read_requests(client, server, events), events);
  }

  std::vector<Message> read_requests(const StreamEnd& client, const StreamEnd* server,
                                     std::vector<Event>& events) {
    std::vector<Message> messages;
    const StoreRequest* lost = nullptr;  // from which on nothing is told
    for (const Transfer& sent : client.sent) {
      Message message{sent.call.begin_ns, client.requests_in(sent)};
      for (const StoreRequest* request : message.requests)
        if (request->operation == StoreOperation::kUnknown) lost = request;
      if (message.requests.empty() && lost) message.requests.push_back(lost);
      if (message.requests.empty()) continue;
      const Transfer* taken = server ? find_byte(server->received, sent.own_offset) : nullptr;
      std::int64_t ns = taken ? taken->call.begin_ns : sent.call.begin_ns - job_.clock_error_ns;
      for (const StoreRequest* request : message.requests) events.push_back({ns, false, sent.node, request});
      messages.push_back(std::move(message));
    }
    return messages;
  }

  // A client waits for the answer to a request before it sends the next one.
  void read_answers(const StreamEnd& client, const StreamEnd* server, const std::vector<Message>& messages,
                    std::vector<Event>& events) {
    auto next = messages.begin();
    for (const Transfer& received : client.received) {
      while (next != messages.end() && next->begin_ns <= received.call.end_ns) ++next;
      if (next == messages.begin()) continue;
      const Transfer* given =
          server ? find_byte(server->sent, received.own_offset + received.bytes - 1) : nullptr;
      std::int64_t ns = given ? given->call.begin_ns : received.call.end_ns + job_.clock_error_ns;
      for (const StoreRequest* request : std::prev(next)->requests)
        events.push_back({ns, true, received.node, request});
    }
  }

  void order(std::vector<Event>& events) {
    std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
      return std::pair(a.ns, a.answers) < std::pair(b.ns, b.answers);
    });
    bool all_told =
        std::all_of(events.begin(), events.end(), [](const Event& event) { return is_told(*event.request); });
    std::map<std::string_view, Accumulated> keys;
    Accumulated all(graph_, EdgeKind::kMessage), untold(graph_, EdgeKind::kMessage);
    for (const Event& event : events) {
      bool told = is_told(*event.request);
      Accumulated& key = keys.try_emplace(event.request->key, graph_, EdgeKind::kMessage).first->second;
      if (event.answers) {
        if (told) key.acquire(event.node);
        (told ? untold : all).acquire(event.node, Trust::kUnseen);
      } else if (changes(*event.request)) {
        (told ? key : untold).release(event.node);
        if (!all_told) all.release(event.node);
      }
    }
  }

  const model::Job& job_;
  const StreamEnds& streams_;
  Graph& graph_;
  std::map<std::string, ThreadId> servers_;        // by address
  std::map<ThreadId, std::vector<Event>> events_;  // by the thread that serves
};

}  // namespace

void add_store_edges(const model::Job& job, const StreamEnds& streams, Graph& graph) {
  StoreEdges(job, streams, graph).add();
}

}  // namespace ddpscope::ordering
