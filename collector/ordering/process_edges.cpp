// fork, exec, exit, wait.
#include "collector/ordering/process_edges.h"

#include <algorithm>
#include <optional>
#include <set>

#include "collector/ordering/threads_of.h"
#include "collector/ordering/unseen_children.h"

namespace ddpscope::ordering {
namespace {

using model::Job;
using model::Process;
using trace::Operation;
using trace::Record;

class ProcessEdges {
 public:
  ProcessEdges(const Job& job, const std::vector<ThreadId>& judged, Graph& graph)
      : job_(job), judged_(judged), graph_(graph) {
    for (std::uint32_t i = 0; i < job.processes.size(); ++i)
      by_pid_[{job.processes[i].host, job.processes[i].header().pid}].push_back(i);
    for (auto& [pid, processes] : by_pid_)  // a number is given again, and exec begins a new file
      std::stable_sort(processes.begin(), processes.end(), [&](std::uint32_t a, std::uint32_t b) {
        return job.processes[a].first_ns < job.processes[b].first_ns;
      });
  }

  void run() {
    for (process_ = 0; process_ < job_.processes.size(); ++process_)
      model::for_each(job_.processes[process_].file,
                      {Operation::kFork, Operation::kSpawn, Operation::kExecute, Operation::kWaitChild},
                      [&](model::EventPlace place, const Record& record) { see(place, record); });
    for (std::uint32_t child = 0; child < job_.processes.size(); ++child)
      if (!linked_.count(child)) {
        link_unseen(child);
        link_unseen_wait(child);
      }
    std::vector<UnseenWork> unseen = unseen_children();
    for (std::uint32_t child = 0; child < job_.processes.size(); ++child)
      if (made_by_unseen(child)) unseen.push_back(unseen_maker(child));
    add_wrappers(unseen);
    add_unseen_work(job_, judged_, unseen, graph_);
  }

 private:
  using HostPid = std::pair<std::uint32_t, std::int32_t>;
  // A program begins: in a new process, or in place of another one.
  struct Beginning {
    std::int64_t ns;
    std::string_view program;  // empty: that of the parent, or not told
    Span call;
  };
  // A wait that told of a child's end.
  struct Ending {
    std::uint32_t process;  // that waited
    std::int32_t pid;       // 0: not told
    Span told;
  };

  void see(model::EventPlace place, const Record& record) {
    switch (trace::operation_of(record.call)) {
      case Operation::kFork:
      case Operation::kSpawn:
        return made(place, record);
      case Operation::kExecute:
        return replaced(place, record);
      case Operation::kWaitChild:
        return awaited(place, record);
      default:
        return;
    }
  }

  Span span(model::EventPlace place, const Record& record) const {
    model::EventRef event{process_, place};
    return {{process_, record.thread}, job_.begin_ns(event), job_.end_ns(event)};
  }

  // Of this pid on this host: the last file that began by then, or the first that began after.
  std::optional<std::uint32_t> file_of(std::int32_t pid, std::int64_t ns, bool after) const {
    return file_on({job_.processes[process_].host, pid}, ns, after);
  }

  std::optional<std::uint32_t> file_on(HostPid pid, std::int64_t ns, bool after) const {
    auto found = by_pid_.find(pid);
    if (found == by_pid_.end()) return std::nullopt;
    std::optional<std::uint32_t> latest;
    for (std::uint32_t process : found->second) {
      bool later = job_.processes[process].first_ns >= ns;
      if (after && later) return process;
      if (!after && !later) latest = process;
    }
    return latest;
  }

  void link(Node from, std::uint32_t child) {
    graph_.edge(from, graph_.start_of_process(child), EdgeKind::kProcess);
    linked_.insert(child);
  }

  void made(model::EventPlace place, const Record& record) {
    auto call = trace::payload_of<trace::payload::Process>(record);
    Span own = span(place, record);
    if (call.pid > 0) {
      made_[{job_.processes[process_].host, call.pid}].push_back({own.begin_ns, text(call.path), own});
      if (auto child = file_of(call.pid, own.begin_ns, true)) link(graph_.before(own), *child);
      return;
    }
    // The pid of a shell is not told: it began within the call.
    for (std::uint32_t i = 0; i < job_.processes.size(); ++i) {
      const Process& child = job_.processes[i];
      if (child.first_ns < own.begin_ns || child.first_ns > own.end_ns) continue;
      if (child.parent != static_cast<std::int32_t>(process_) && !by_a_shell_of(process_, i)) continue;
      link(graph_.before(own), i);
      if (waits_itself(record) && child.last_ns <= own.end_ns && !leaves_behind(text(call.path)))
        graph_.edge(graph_.end_of_process(i), graph_.after(own), EdgeKind::kProcess);
    }
    // Most shells record nothing, whatever they wait for, and it is not known which programs they run.
    if (waits_itself(record)) endings_.push_back({process_, 0, own});
  }

  static bool waits_itself(const Record& record) {
    return record.call == static_cast<std::uint16_t>(trace::Call::system) && record.end;
  }

  void replaced(model::EventPlace place, const Record& record) {
    if (record.end) return;  // it failed
    Span own = span(place, record);
    auto program = file_of(job_.processes[process_].header().pid, own.begin_ns, true);
    if (program && *program != process_)
      link(graph_.before(own), *program);
    else
      replaced_unseen_[process_] = {own.begin_ns,
                                    text(trace::payload_of<trace::payload::Process>(record).path), own};
  }

  void awaited(model::EventPlace place, const Record& record) {
    auto call = trace::payload_of<trace::payload::Process>(record);
    bool of_a_shell = record.call == static_cast<std::uint16_t>(trace::Call::pclose);  // its pid is not told
    if (!record.end || call.error || (call.pid <= 0 && !of_a_shell)) return;
    Span own = span(place, record);
    endings_.push_back({process_, call.pid, own});
    if (auto child = file_of(call.pid, own.end_ns, false); child && *child != process_)
      graph_.edge(graph_.end_of_process(*child), graph_.after(own), EdgeKind::kProcess);
  }

  std::vector<UnseenWork> unseen_children() {
    std::vector<UnseenWork> unseen;
    for (const Ending& ending : endings_) {
      HostPid pid{job_.processes[ending.process].host, ending.pid};
      const Beginning* made = ending.pid ? last_making(pid, ending.told.end_ns) : nullptr;
      auto child = ending.pid ? file_on(pid, ending.told.end_ns, false) : std::nullopt;
      // The number of an earlier process may have been given again.
      if (child && made && job_.processes[*child].last_ns < made->ns) child.reset();
      auto replaced = child ? replaced_unseen_.find(*child) : replaced_unseen_.end();
      if (child && replaced == replaced_unseen_.end()) continue;
      if (child) made = &replaced->second;
      unseen.push_back(work_told_by(asks_from(made), ending.told, graph_));
    }
    return unseen;
  }

  static std::optional<std::int64_t> asks_from(const Beginning* made) {
    bool asks_late = made && !made->program.empty() && !is_shell(made->program);
    return asks_late ? std::optional(made->ns) : std::nullopt;
  }

  // No program that becomes a rank later: whatever starts ranks makes that.
  bool made_by_unseen(std::uint32_t process) const {
    const Process& own = job_.processes[process];
    return own.role == model::Role::kWorker && own.parent < 0 && !model::becomes_rank(job_, own);
  }

  // Of a shell that left no trace, started by a call that does not tell its pid.
  bool by_a_shell_of(std::uint32_t process, std::uint32_t child) const {
    const Process &caller = job_.processes[process], &own = job_.processes[child];
    return made_by_unseen(child) && own.host == caller.host && own.rank == caller.rank;
  }

  // Whether the shell lets a command run on in the background: an `&` that is neither half of `&&` nor part
  // of a redirection.
  static bool leaves_behind(std::string_view command) {
    for (std::size_t at = command.find('&'); at < command.size(); at = command.find('&', at + 1)) {
      std::string_view after = command.substr(at + 1), before = command.substr(0, at);
      if (after.starts_with('&'))
        ++at;
      else if (!after.starts_with('>') && !before.ends_with('>') && !before.ends_with('<'))
        return true;
    }
    return false;
  }

  // The child comes after the making of its maker. What that one waited for in between, nobody knows; what it
  // waits for later the wait for its own end tells.
  UnseenWork unseen_maker(std::uint32_t child) {
    const Process& process = job_.processes[child];
    const Beginning* made = last_making({process.host, process.header().parent_pid}, process.first_ns);
    if (made) graph_.edge(graph_.before(made->call), graph_.start_of_process(child), EdgeKind::kProcess);
    return {asks_from(made), process.first_ns, graph_.start_of_process(child)};
  }

  // sh, bash, zsh, ssh: they do what a script says. What that asks for may have been there already, and it
  // would have waited.
  static bool is_shell(std::string_view program) { return program.ends_with("sh"); }

  const Beginning* last_making(HostPid pid, std::int64_t by_ns) const {
    auto found = made_.find(pid);
    const Beginning* last = nullptr;
    if (found != made_.end())
      for (const Beginning& made : found->second)
        if (made.ns <= by_ns && (!last || made.ns >= last->ns)) last = &made;
    return last;
  }

  std::string_view text(std::uint32_t id) const { return job_.processes[process_].file.string(id); }

  void link_unseen(std::uint32_t child) {
    std::int32_t parent = job_.processes[child].parent;
    if (parent < 0 || static_cast<std::uint32_t>(parent) == child) return;
    for (std::uint16_t thread : threads_of(job_.processes[static_cast<std::uint32_t>(parent)]))
      graph_.edge(graph_.moment({static_cast<std::uint32_t>(parent), thread}, job_.processes[child].first_ns),
                  graph_.start_of_process(child), EdgeKind::kProcess, Trust::kUnseen);
  }

  // Shells that become ranks wait by programs that leave no trace (grep, sleep), and have none themselves if
  // they do nothing else. Ranks are started alike: where one was such a shell, the others may have been, too.
  void add_wrappers(std::vector<UnseenWork>& unseen) {
    std::map<std::uint32_t, std::optional<std::uint32_t>> earlier;  // of each rank its first program
    bool any_shell = false;
    for (std::uint32_t rank = 0; rank < job_.processes.size(); ++rank) {
      if (job_.processes[rank].role != model::Role::kRank) continue;
      std::optional<std::uint32_t>& first = earlier[rank];
      first = first_program(rank);
      any_shell = any_shell || (first && was_shell(*first));
    }
    if (!any_shell) return;
    for (const auto& [rank, first] : earlier) {
      const Process& own = job_.processes[rank];
      if (!first) {
        unseen.push_back({std::nullopt, own.first_ns, graph_.start_of_process(rank), {}, own.rank});
      } else if (was_shell(*first)) {
        std::int64_t opened_ns = job_.time_ns(*first, job_.processes[*first].header().opened.ticks);
        for (std::uint16_t thread : threads_of(job_.processes[*first]))
          unseen.push_back(
              {std::nullopt, opened_ns, graph_.moment({*first, thread}, opened_ns), {}, own.rank});
      }
    }
  }

  // That a process was before it became this one.
  std::optional<std::uint32_t> first_program(std::uint32_t process) const {
    const Process& own = job_.processes[process];
    for (std::uint32_t other : by_pid_.at({own.host, own.header().pid}))
      if (is_one_process(job_.processes[other], own))
        return other == process ? std::nullopt : std::optional(other);
    return std::nullopt;
  }

  bool was_shell(std::uint32_t process) const {
    const std::vector<std::string_view>& words = job_.processes[process].arguments;
    return !words.empty() && is_shell(words.front());
  }

  // Before a process has a file it records neither forks nor waits: it may have waited for this child, also
  // as the program that it was before.
  void link_unseen_wait(std::uint32_t child) {
    if (job_.processes[child].parent < 0) return;
    auto parent = static_cast<std::uint32_t>(job_.processes[child].parent);
    const Process& maker = job_.processes[parent];
    if (maker.header().pid != job_.processes[child].header().parent_pid)
      return;  // what it was before it exec'd
    std::int64_t opened_ns = job_.time_ns(parent, maker.header().opened.ticks);
    if (job_.processes[child].last_ns > opened_ns) return;
    for (std::uint16_t thread : threads_of(maker))
      graph_.edge(graph_.end_of_process(child), graph_.moment({parent, thread}, opened_ns),
                  EdgeKind::kProcess, Trust::kUnseen);
  }

  const Job& job_;
  const std::vector<ThreadId>& judged_;
  Graph& graph_;
  std::uint32_t process_ = 0;
  std::map<HostPid, std::vector<std::uint32_t>> by_pid_;
  std::map<HostPid, std::vector<Beginning>> made_;
  std::set<std::uint32_t> linked_;                      // whose making is known
  std::map<std::uint32_t, Beginning> replaced_unseen_;  // by a program that left no trace
  std::vector<Ending> endings_;
};

}  // namespace

void add_process_edges(const Job& job, const std::vector<ThreadId>& judged, Graph& graph) {
  ProcessEdges(job, judged, graph).run();
}

}  // namespace ddpscope::ordering
