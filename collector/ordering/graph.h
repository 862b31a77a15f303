// Moments at which threads, streams and connections synchronise, and which comes before which. What a thread
// does in between (its accesses) is no node: it is placed by its time on its own thread.
#pragma once
#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <unordered_map>
#include <vector>

#include "trace/read/table.h"

namespace ddpscope::ordering {

struct ThreadId {
  std::uint32_t process;
  std::uint16_t thread;  // as in Record::thread
  auto operator<=>(const ThreadId&) const = default;
};

using Node = std::uint32_t;
constexpr Node kNoNode = std::numeric_limits<std::uint32_t>::max();

// How far an edge can be relied on. Each level holds for those before it too.
enum class Trust : std::uint8_t {
  kSeen,     // it orders in every run
  kAssumed,  // it orders if every mutex does, or a peer outside the trace hands on what it is told
  kUnseen,   // recording cannot tell: it may order, or not
};

enum class EdgeKind : std::uint8_t {
  kProgram,
  kCollective,
  kCommunicator,
  kMessage,
  kHandOver,
  kProcess,
  kFile,
};

struct Edge {
  Node from, to;
  EdgeKind kind;
  Trust trust;
};

// A call of a thread; times in ns since the job's start. Calls of one thread do not overlap unless nested.
struct Span {
  ThreadId thread;
  std::int64_t begin_ns;
  std::int64_t end_ns;
};

class Graph {
 public:
  // Threads without a node of their own take part in their process's start and end all the same.
  void mention(ThreadId thread) { find(thread); }
  // All that the thread did before this call began comes before the node.
  Node before(const Span& call) { return add(call.thread, call.begin_ns, call.begin_ns, Phase::kRelease); }
  // Likewise, and the call itself.
  Node through(const Span& call) { return add(call.thread, call.end_ns, call.begin_ns, Phase::kThrough); }
  // All that the thread does once this call has returned comes after the node.
  Node after(const Span& call) { return add(call.thread, call.end_ns, call.begin_ns, Phase::kAcquire); }
  Node moment(ThreadId thread, std::int64_t ns) { return add(thread, ns, ns, Phase::kRelease); }
  // All calls that had returned by then.
  Node up_to(ThreadId thread, std::int64_t ns) { return add(thread, ns, kLatest, Phase::kThrough); }
  Node start_of(ThreadId thread);
  Node end_of(ThreadId thread);
  // Before the start of each of its threads, and after the end of each.
  Node start_of_process(std::uint32_t process);
  Node end_of_process(std::uint32_t process);
  Node known_start_of(std::uint32_t process) const;  // kNoNode if nobody asked for it
  Node meeting();                                    // of no thread: comes after what leads to it

  // Nothing if either is kNoNode.
  void edge(Node from, Node to, EdgeKind kind, Trust trust = Trust::kSeen);

  // No node is added from here on.
  void finish();

  bool empty() const { return edges_.empty(); }
  std::size_t nodes() const { return nodes_.size(); }
  const trace::Table<Edge>& edges() const { return edges_; }
  // Of a thread, in program order; empty for one without nodes.
  const std::vector<Node>& nodes_of(ThreadId thread) const;
  std::vector<ThreadId> threads() const;

  std::int64_t ns(Node node) const { return nodes_[node].ns; }
  // Not the start or the end of a thread, nor a meeting.
  bool at_some_time(Node node) const {
    return on_thread(node) && nodes_[node].phase != Phase::kStart && nodes_[node].phase != Phase::kEnd;
  }
  bool on_thread(Node node) const { return nodes_[node].thread != kNoThread; }
  std::uint32_t thread_number(Node node) const { return nodes_[node].thread; }  // order of first mention
  std::uint32_t number_of(ThreadId thread) const;                               // kNoThread if unknown
  ThreadId thread(std::uint32_t number) const { return threads_[number].id; }

  static constexpr std::uint32_t kNoThread = std::numeric_limits<std::uint32_t>::max();

  // What sorts the nodes of a thread: of two calls that touch, the first one's end comes before the second
  // one's begin.
  bool in_program_order(Node a, Node b) const;

 private:
  enum class Phase : std::uint8_t { kStart, kRelease, kAcquire, kThrough, kEnd };
  static constexpr std::int64_t kEarliest = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max();
  struct NodeData {
    std::int64_t ns;
    std::int64_t began_ns;  // of the call
    std::uint32_t thread;
    Phase phase;
  };
  struct Thread {
    ThreadId id;
    Node start = kNoNode, end = kNoNode;
    std::vector<Node> nodes;
  };
  struct Ends {
    Node start = kNoNode, end = kNoNode;
  };

  Node add(ThreadId thread, std::int64_t ns, std::int64_t began_ns, Phase phase);
  Thread& find(ThreadId thread);

  trace::Table<NodeData> nodes_;
  trace::Table<Edge> edges_;
  std::vector<Thread> threads_;
  std::map<ThreadId, std::uint32_t> numbers_;
  std::uint32_t last_found_ = 0;  // its nodes tend to come in a row
  std::unordered_map<std::uint32_t, Ends> processes_;
};

}  // namespace ddpscope::ordering
