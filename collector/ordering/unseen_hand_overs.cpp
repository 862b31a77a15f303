// Where recording does not tell what threads hand to each other, they are taken for one actor.
#include <algorithm>
#include <map>
#include <set>

#include "collector/ordering/thread_edges.h"

namespace ddpscope::ordering {
namespace {

using model::Job;
using trace::Operation;
using trace::Record;

// What the records of a process say of its threads.
struct ThreadNews {
  bool hand_overs = false;  // recorded at all
  std::set<std::uint16_t> made;
  std::set<std::uint16_t> python;                      // threads that run Python code
  std::map<std::uint16_t, std::uint64_t> first_ticks;  // by thread
};

bool runs_python(const trace::TraceFile& file, std::uint32_t stack) {
  auto frames = file.stack(stack);
  return !frames.empty() && frames.front().kind == trace::FrameKind::kPython;
}

// What Python threads tell each other through variables shows in no call. Of an interpreter that recording
// does not know it cannot be told which threads run it, nor what they do with its locks (free-threaded ones
// are atomics).
bool tells_by_variables(const trace::TraceFile& file, const ThreadNews& news) {
  return news.python.size() > 1 || file.health(trace::Health::python_stack_off);
}

bool has_several_threads(const trace::TraceFile& file) {
  const auto& spans = file.records();
  return std::any_of(spans.begin(), spans.end(),
                     [&](const trace::RecordSpan& span) { return span.thread != spans.front().thread; });
}

ThreadNews read_threads(const trace::TraceFile& file) {
  ThreadNews news;
  model::for_each(file, [&](model::EventPlace, const Record& record) {
    auto [known, fresh] = news.first_ticks.emplace(record.thread, record.begin);
    known->second = std::min(known->second, record.begin);
    Operation operation = trace::operation_of(record.call);
    bool tells = operation == Operation::kThreadCreate || operation == Operation::kThreadJoin ||
                 operation == Operation::kHandOver || operation == Operation::kWaitingSite;
    news.hand_overs = news.hand_overs || tells;
    if (record.stack && !news.python.count(record.thread) && runs_python(file, record.stack))
      news.python.insert(record.thread);
    if (operation == Operation::kThreadCreate)
      news.made.insert(
          static_cast<std::uint16_t>(trace::payload_of<trace::payload::ThreadLife>(record).other));
  });
  return news;
}

class OneActor {
 public:
  OneActor(std::uint32_t process, const std::vector<ThreadId>& judged, Graph& graph)
      : process_(process), graph_(graph) {
    for (ThreadId thread : judged)
      if (thread.process == process) judged_.insert(thread);
  }

  // A judged thread has no node where it only reads or writes: it gets one at every moment of the others.
  void add() {
    for (Node node : moments()) {
      for (ThreadId thread : judged_)
        if (graph_.number_of(thread) != graph_.thread_number(node))
          follow(graph_.moment(thread, graph_.ns(node)));
      follow(node);
      for (ThreadId thread : judged_)
        if (graph_.number_of(thread) != graph_.thread_number(node))
          follow(graph_.up_to(thread, graph_.ns(node)));
    }
  }

 private:
  std::vector<Node> moments() const {
    std::vector<Node> nodes;
    for (ThreadId thread : graph_.threads())
      if (thread.process == process_)
        for (Node node : graph_.nodes_of(thread))
          if (graph_.at_some_time(node)) nodes.push_back(node);
    std::sort(nodes.begin(), nodes.end(), [&](Node a, Node b) { return graph_.in_program_order(a, b); });
    return nodes;
  }

  void follow(Node node) {
    graph_.edge(last_, node, EdgeKind::kHandOver, Trust::kUnseen);
    last_ = node;
  }

  std::uint32_t process_;
  Graph& graph_;
  std::set<ThreadId> judged_;
  Node last_ = kNoNode;
};

}  // namespace

std::set<std::uint32_t> add_unseen_hand_overs(const Job& job, const std::vector<ThreadId>& judged,
                                              Graph& graph) {
  std::set<std::uint32_t> one_actor;
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    const trace::TraceFile& file = job.processes[i].file;
    if (!has_several_threads(file)) continue;
    ThreadNews news = read_threads(file);
    if (news.first_ticks.size() < 2) continue;
    bool unseen =
        !news.hand_overs || file.health(trace::Health::hand_overs_lost) || tells_by_variables(file, news);
    if (unseen) {
      OneActor(i, judged, graph).add();
      one_actor.insert(i);
      continue;
    }
    // Who made a thread may not be known: it comes after the others' past all the same.
    std::uint64_t first = file.header().opened.ticks;
    for (auto [thread, ticks] : news.first_ticks) {
      if (news.made.count(thread) || ticks <= first) continue;
      for (auto [other, since] : news.first_ticks)
        if (other != thread && since < ticks)
          graph.edge(graph.moment({i, other}, job.time_ns(i, ticks)), graph.start_of({i, thread}),
                     EdgeKind::kHandOver, Trust::kUnseen);
    }
  }
  return one_actor;
}

}  // namespace ddpscope::ordering
