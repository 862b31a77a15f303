// kill and its relatives.
#include <csignal>

#include "collector/ordering/process_edges.h"
#include "collector/ordering/threads_of.h"

namespace ddpscope::ordering {
namespace {

using trace::Operation;
using trace::Record;

class SignalEdges {
 public:
  SignalEdges(const model::Job& job, const ThreadEnds& ends, Graph& graph)
      : job_(job), ends_(ends), graph_(graph) {}

  void see(std::uint32_t sender, model::EventPlace place, const Record& record) {
    auto call = trace::payload_of<trace::payload::Process>(record);
    bool nobody_notices = call.status == 0 || call.status == SIGKILL || call.status == SIGSTOP;
    if (nobody_notices || call.error) return;
    model::EventRef event{sender, place};
    Span own{{sender, record.thread}, job_.begin_ns(event), job_.end_ns(event)};
    bool one = call.pid > 0;  // not a group
    for (std::uint32_t i = 0; i < job_.processes.size(); ++i) {
      const model::Process& process = job_.processes[i];
      bool meant = !one || process.header().pid == call.pid;
      bool over = process.header().ended && process.last_ns <= own.begin_ns;
      if (process.host == job_.processes[sender].host && meant && !over) reach(i, own);
    }
  }

 private:
  // A handler, or a thread that waits for the signal, shows nobody that it came. A thread that another one
  // had joined by then, or a process that had ended, is no more: its end came before, and so did what came
  // after that.
  void reach(std::uint32_t process, const Span& signal) {
    for (std::uint16_t number : threads_of(job_.processes[process])) {
      ThreadId thread{process, number};
      auto end = ends_.find(thread);
      bool over = end != ends_.end() && end->second <= signal.begin_ns;
      if (thread != signal.thread && !over)
        graph_.edge(graph_.before(signal), graph_.moment(thread, signal.begin_ns), EdgeKind::kProcess,
                    Trust::kUnseen);
    }
  }

  const model::Job& job_;
  const ThreadEnds& ends_;
  Graph& graph_;
};

}  // namespace

void add_signal_edges(const model::Job& job, const ThreadEnds& ends, Graph& graph) {
  SignalEdges signals(job, ends, graph);
  for (std::uint32_t process = 0; process < job.processes.size(); ++process)
    model::for_each(
        job.processes[process].file, {Operation::kKill},
        [&](model::EventPlace place, const Record& record) { signals.see(process, place, record); });
}

}  // namespace ddpscope::ordering
