// Creation, end and hand-overs of threads.
#include "collector/ordering/thread_edges.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "collector/ordering/accumulated.h"

namespace ddpscope::ordering {
namespace {

using model::Job;
using trace::Operation;
using trace::Record;
namespace payload = trace::payload;

// Values of trace/named_values.def.
enum class Kind : std::uint8_t { kCondition = 1, kSemaphore, kMutex, kFutex, kBarrier, kReadWriteLock };
constexpr std::uint8_t kRelock = 1, kUncertain = 2;

using Site = std::pair<std::string_view, std::uint64_t>;  // module and offset: the same in all ranks

std::set<Site> find_waiting_sites(const Job& job) {
  std::set<Site> sites;
  for (const model::Process& process : job.processes)
    model::for_each(process.file, {Operation::kWaitingSite}, [&](model::EventPlace, const Record& record) {
      auto site = trace::payload_of<payload::LockSite>(record);
      sites.emplace(process.file.string(site.module), site.site);
    });
  return sites;
}

class ProcessThreads {
 public:
  ProcessThreads(const Job& job, std::uint32_t process, const std::set<Site>& waiting_sites, ThreadEnds& ends,
                 Graph& graph)
      : job_(job), process_(process), waiting_sites_(waiting_sites), ends_(ends), graph_(graph) {}

  void see(model::EventPlace place, const Record& record) {
    switch (trace::operation_of(record.call)) {
      case Operation::kThreadCreate:
        return created(place, record);
      case Operation::kThreadJoin:
        return joined(place, record);
      case Operation::kRelease:
        return released(place, record);
      case Operation::kHandOver:
        return handed_over(place, record);
      default:
        return;
    }
  }

 private:
  Span span(model::EventPlace place, const Record& record) const {
    model::EventRef event{process_, place};
    return {{process_, record.thread}, job_.begin_ns(event), job_.end_ns(event)};
  }
  ThreadId thread(std::uint32_t number) const { return {process_, static_cast<std::uint16_t>(number)}; }

  void created(model::EventPlace place, const Record& record) {
    auto life = trace::payload_of<payload::ThreadLife>(record);
    by_handle_[life.handle] = life.other;
    if (life.other)
      graph_.edge(graph_.before(span(place, record)), graph_.start_of(thread(life.other)),
                  EdgeKind::kHandOver);
  }

  void joined(model::EventPlace place, const Record& record) {
    auto life = trace::payload_of<payload::ThreadLife>(record);
    std::uint32_t other = life.other;
    if (auto known = by_handle_.find(life.handle); !other && known != by_handle_.end()) other = known->second;
    if (!record.end || life.error || !other) return;
    Span call = span(place, record);
    ends_.emplace(thread(other), call.end_ns);
    graph_.edge(graph_.end_of(thread(other)), graph_.after(call), EdgeKind::kHandOver);
  }

  void released(model::EventPlace place, const Record& record) {
    auto release = trace::payload_of<payload::Release>(record);
    std::int64_t until_ns = job_.time_ns(process_, release.until_ticks);
    if (!release.number) {
      signals_[release.object][record.thread] = {job_.begin_ns({process_, place}), until_ns};
      return;
    }
    auto [releases, fresh] = locks_.try_emplace(release.number, graph_, EdgeKind::kHandOver);
    releases->second.release(graph_.up_to(thread(record.thread), until_ns));
  }

  void took_signals(const payload::HandOver& taken, const Span& call) {
    auto signals = signals_.find(taken.object);
    if (signals == signals_.end()) return;
    std::int64_t since_ns = job_.time_ns(process_, taken.from_ticks);
    for (auto [other, signal] : signals->second)
      if (other != call.thread.thread && signal.ns >= since_ns)
        graph_.edge(graph_.up_to(thread(other), signal.until_ns), graph_.after(call), EdgeKind::kHandOver);
  }

  // What threads say in records of their own that they have released.
  void took_releases(const payload::HandOver& taken, const Span& call) {
    if (!taken.number) return took_signals(taken, call);
    auto releases = locks_.find(taken.number);
    if (releases != locks_.end()) releases->second.acquire(graph_.after(call), trust_in(taken));
  }

  void handed_over(model::EventPlace place, const Record& record) {
    auto taken = trace::payload_of<payload::HandOver>(record);
    if (!record.end || taken.from_thread == record.thread) return;
    if (!taken.from_thread) return took_releases(taken, span(place, record));
    graph_.edge(graph_.up_to(thread(taken.from_thread), job_.time_ns(process_, taken.from_ticks)),
                graph_.after(span(place, record)), EdgeKind::kHandOver, trust_in(taken));
  }

  Trust trust_in(const payload::HandOver& taken) const {
    switch (static_cast<Kind>(taken.kind)) {
      case Kind::kCondition:
      case Kind::kFutex:
      case Kind::kBarrier:
        return Trust::kSeen;
      case Kind::kSemaphore:
        return taken.flags & kUncertain ? Trust::kAssumed : Trust::kSeen;
      default: {
        std::string_view module = job_.processes[process_].file.string(taken.module);
        bool meant = taken.flags & kRelock || (taken.module && waiting_sites_.count({module, taken.site}));
        return meant ? Trust::kSeen : Trust::kAssumed;
      }
    }
  }

  const Job& job_;
  std::uint32_t process_;
  const std::set<Site>& waiting_sites_;
  ThreadEnds& ends_;
  Graph& graph_;
  struct Signal {
    std::int64_t ns, until_ns;  // when it was made, and up to when what its thread had done counts
  };
  std::map<std::uint64_t, std::uint32_t> by_handle_;
  std::unordered_map<std::uint32_t, Accumulated> locks_;  // by the number of their releases
  std::unordered_map<std::uint64_t, std::map<std::uint16_t, Signal>> signals_;  // each thread's latest
};

// Semaphores that processes share. As long as no tokens are left, a wait needed every post before it.
class SharedSemaphores {
 public:
  explicit SharedSemaphores(const Job& job) : job_(job) {}

  void see(std::uint32_t process, model::EventPlace place, const Record& record) {
    Operation operation = trace::operation_of(record.call);
    if (operation != Operation::kSharedPost && operation != Operation::kSharedWait) return;
    auto semaphore = trace::payload_of<payload::SharedSemaphore>(record);
    if (!record.end || semaphore.error) return;
    model::EventRef event{process, place};
    Span span{{process, record.thread}, job_.begin_ns(event), job_.end_ns(event)};
    events_[{job_.processes[process].host, semaphore.device, semaphore.inode, semaphore.offset}].push_back(
        {span, operation == Operation::kSharedPost});
  }

  void add(Graph& graph) {
    for (auto& [semaphore, events] : events_) {
      auto at = [](const Event& event) { return event.posts ? event.call.begin_ns : event.call.end_ns; };
      std::stable_sort(events.begin(), events.end(),
                       [&](const Event& a, const Event& b) { return at(a) < at(b); });
      std::int64_t tokens = 0;
      Accumulated posts(graph, EdgeKind::kHandOver);
      for (const Event& event : events) {
        tokens += event.posts ? 1 : -1;
        if (event.posts)
          posts.release(graph.before(event.call));
        else if (!posts.empty())
          posts.acquire(graph.after(event.call), tokens <= 0 ? Trust::kSeen : Trust::kAssumed);
      }
    }
  }

 private:
  struct Event {
    Span call;
    bool posts;
  };
  const Job& job_;
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t, std::uint64_t>, std::vector<Event>>
      events_;
};

}  // namespace

ThreadEnds add_thread_edges(const Job& job, Graph& graph) {
  ThreadEnds ends;
  std::set<Site> waiting_sites = find_waiting_sites(job);
  SharedSemaphores semaphores(job);
  for (std::uint32_t process = 0; process < job.processes.size(); ++process) {
    ProcessThreads threads(job, process, waiting_sites, ends, graph);
    constexpr trace::OperationSet kHandingOver =
        trace::OperationSet::range(Operation::kThreadCreate, Operation::kSharedWait);
    const trace::TraceFile& file = job.processes[process].file;
    model::for_each_in_time(file, kHandingOver, [&](model::EventPlace place, const Record& record) {
      threads.see(place, record);
      semaphores.see(process, place, record);
    });
  }
  semaphores.add(graph);
  return ends;
}

}  // namespace ddpscope::ordering
