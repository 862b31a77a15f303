// Where recording does not tell what threads hand to each other, they are taken for one actor.
#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "collector/ordering/thread_edges.h"

namespace ddpscope::ordering {
namespace {

using model::Job;
using trace::Operation;
using trace::Record;

using Threads = std::set<std::uint16_t>;

// What the records of a process say of its threads.
struct ThreadNews {
  bool hand_overs = false;  // recorded at all
  Threads made;
  Threads python;                                      // that run Python code
  std::map<std::uint16_t, std::uint64_t> first_ticks;  // by thread
};

// That recorded a call, or gave or took a lock of Python's (threading.Thread does so when it starts one).
class PythonThreads {
 public:
  explicit PythonThreads(const trace::TraceFile& file) : file_(file) {}

  void see(const Record& record, Threads& python) {
    if (record.stack && !python.count(record.thread) && is_python(record.stack)) python.insert(record.thread);
    if (trace::operation_of(record.call) != Operation::kHandOver) return;
    auto taken = trace::payload_of<trace::payload::HandOver>(record);
    if (!taken.module || !is_interpreter(taken.module)) return;
    python.insert(record.thread);
    if (taken.from_thread) python.insert(static_cast<std::uint16_t>(taken.from_thread));
  }

 private:
  bool is_python(std::uint32_t stack) const {
    auto frames = file_.stack(stack);
    return !frames.empty() && frames.front().kind == trace::FrameKind::kPython;
  }

  bool is_interpreter(std::uint32_t module) {
    auto [known, fresh] = interpreters_.try_emplace(module);
    if (fresh) {
      std::string_view path = file_.string(module);
      std::string_view name = path.substr(path.rfind('/') + 1);
      known->second = name.starts_with("python") || name.starts_with("libpython");
    }
    return known->second;
  }

  const trace::TraceFile& file_;
  std::map<std::uint32_t, bool> interpreters_;  // by module
};

// Of an interpreter that recording does not know it cannot be told which threads run it, nor what they do
// with its locks (free-threaded ones are atomics).
bool hides_hand_overs(const trace::TraceFile& file, const ThreadNews& news) {
  return !news.hand_overs || file.health(trace::Health::hand_overs_lost) ||
         file.health(trace::Health::python_stack_off);
}

bool has_several_threads(const trace::TraceFile& file) {
  const auto& spans = file.records();
  return std::any_of(spans.begin(), spans.end(),
                     [&](const trace::RecordSpan& span) { return span.thread != spans.front().thread; });
}

ThreadNews read_threads(const trace::TraceFile& file) {
  ThreadNews news;
  PythonThreads python(file);
  model::for_each(file, [&](model::EventPlace, const Record& record) {
    auto [known, fresh] = news.first_ticks.emplace(record.thread, record.begin);
    known->second = std::min(known->second, record.begin);
    Operation operation = trace::operation_of(record.call);
    bool tells = operation == Operation::kThreadCreate || operation == Operation::kThreadJoin ||
                 operation == Operation::kHandOver || operation == Operation::kWaitingSite;
    news.hand_overs = news.hand_overs || tells;
    python.see(record, news.python);
    if (operation == Operation::kThreadCreate)
      news.made.insert(
          static_cast<std::uint16_t>(trace::payload_of<trace::payload::ThreadLife>(record).other));
  });
  return news;
}

class OneActor {
 public:
  // `hand_overs`: to threads of the process.
  OneActor(std::set<ThreadId> threads, const std::vector<ThreadId>& judged,
           const std::vector<Edge>& hand_overs, Graph& graph)
      : threads_(std::move(threads)), hand_overs_(hand_overs), graph_(graph) {
    for (ThreadId thread : judged)
      if (threads_.count(thread)) judged_.insert(thread);
  }

  // A judged thread has no node where it only reads or writes: it gets one at every moment of the others.
  void add() {
    for (Node node : moments()) {
      for (ThreadId thread : judged_)
        if (graph_.number_of(thread) != graph_.thread_number(node))
          follow(graph_.moment(thread, graph_.ns(node)));
      if (!is_own(node)) {
        graph_.edge(last_, node, EdgeKind::kHandOver, Trust::kUnseen);
        continue;
      }
      follow(node);
      for (ThreadId thread : judged_)
        if (graph_.number_of(thread) != graph_.thread_number(node))
          follow(graph_.up_to(thread, graph_.ns(node)));
    }
  }

 private:
  // And those at which another thread took what one of these gave it: when it was given shows in no record,
  // only what its giver had recorded before. Others may have told the giver more until it was taken.
  std::vector<Node> moments() const {
    std::set<Node> found;
    for (ThreadId thread : threads_)
      for (Node node : graph_.nodes_of(thread))
        if (graph_.at_some_time(node)) found.insert(node);
    for (const Edge& edge : hand_overs_)
      if (!graph_.on_thread(edge.from) || is_own(edge.from)) found.insert(edge.to);
    std::vector<Node> nodes(found.begin(), found.end());
    std::sort(nodes.begin(), nodes.end(), [&](Node a, Node b) { return graph_.in_program_order(a, b); });
    return nodes;
  }

  bool is_own(Node node) const { return threads_.count(graph_.thread(graph_.thread_number(node))) > 0; }

  void follow(Node node) {
    graph_.edge(last_, node, EdgeKind::kHandOver, Trust::kUnseen);
    last_ = node;
  }

  std::set<ThreadId> threads_;
  const std::vector<Edge>& hand_overs_;
  Graph& graph_;
  std::set<ThreadId> judged_;
  Node last_ = kNoNode;
};

std::set<ThreadId> threads_of(std::uint32_t process, const std::vector<ThreadId>& judged,
                              const Graph& graph) {
  std::set<ThreadId> threads;
  for (const std::vector<ThreadId>& some : {graph.threads(), judged})
    for (ThreadId thread : some)
      if (thread.process == process) threads.insert(thread);
  return threads;
}

// By the process that takes.
std::map<std::uint32_t, std::vector<Edge>> hand_overs_by_process(const Graph& graph) {
  std::map<std::uint32_t, std::vector<Edge>> hand_overs;
  for (const Edge& edge : graph.edges())
    if (edge.kind == EdgeKind::kHandOver && graph.at_some_time(edge.to))
      hand_overs[graph.thread(graph.thread_number(edge.to)).process].push_back(edge);
  return hand_overs;
}

// Who made a thread may not be known: it comes after the others' past all the same.
void follow_unknown_makers(const Job& job, std::uint32_t process, const ThreadNews& news, Graph& graph) {
  std::uint64_t first = job.processes[process].file.header().opened.ticks;
  for (auto [thread, ticks] : news.first_ticks) {
    if (news.made.count(thread) || ticks <= first) continue;
    for (auto [other, since] : news.first_ticks)
      if (other != thread && since < ticks)
        graph.edge(graph.moment({process, other}, job.time_ns(process, ticks)),
                   graph.start_of({process, thread}), EdgeKind::kHandOver, Trust::kUnseen);
  }
}

}  // namespace

std::set<ThreadId> add_unseen_hand_overs(const Job& job, const std::vector<ThreadId>& judged, Graph& graph) {
  std::set<ThreadId> untold;
  std::map<std::uint32_t, std::vector<Edge>> hand_overs = hand_overs_by_process(graph);
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    const trace::TraceFile& file = job.processes[i].file;
    if (!has_several_threads(file)) continue;
    ThreadNews news = read_threads(file);
    bool none_seen = hides_hand_overs(file, news);
    std::set<ThreadId> one_actor = none_seen ? threads_of(i, judged, graph) : std::set<ThreadId>{};
    for (std::uint16_t thread : news.python) one_actor.insert({i, thread});
    if (one_actor.size() > 1) {
      OneActor(one_actor, judged, hand_overs[i], graph).add();
      untold.merge(one_actor);
    }
    if (!none_seen) follow_unknown_makers(job, i, news, graph);
  }
  return untold;
}

}  // namespace ddpscope::ordering
