// flock, lockf, fcntl.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "collector/files/places.h"
#include "collector/ordering/accumulated.h"
#include "collector/ordering/file_edges.h"

namespace ddpscope::ordering {
namespace {

using trace::Operation;
using trace::Record;
namespace payload = trace::payload;

enum class Does : std::uint8_t { kNothing, kTakes, kGivesBack };

Does what_it_does(trace::Call call, std::int32_t operation) {
  if (call == trace::Call::flock) return (operation & ~LOCK_NB) == LOCK_UN ? Does::kGivesBack : Does::kTakes;
  if (call == trace::Call::fcntl_lock) return operation == F_UNLCK ? Does::kGivesBack : Does::kTakes;
  if (operation == F_TEST) return Does::kNothing;
  return operation == F_ULOCK ? Does::kGivesBack : Does::kTakes;
}

bool is_exclusive(trace::Call call, std::int32_t operation) {
  if (call == trace::Call::flock) return (operation & ~LOCK_NB) == LOCK_EX;
  return call != trace::Call::fcntl_lock || operation == F_WRLCK;
}

class LockEdges {
 public:
  explicit LockEdges(const model::Job& job) : job_(job), places_(job) {}

  void read(std::uint32_t process) {
    paths_.clear();
    held_.clear();
    exclusive_.clear();
    constexpr trace::OperationSet kLocking{Operation::kOpen, Operation::kClose, Operation::kLock};
    const trace::TraceFile& file = job_.processes[process].file;
    model::for_each_in_time(file, kLocking, [&](model::EventPlace place, const Record& record) {
      see({process, place}, record);
    });
  }

  void add(Graph& graph) {
    for (auto& [lock, events] : events_) {
      std::stable_sort(events.begin(), events.end(),
                       [](const Event& a, const Event& b) { return at(a) < at(b); });
      Accumulated done(graph, EdgeKind::kFile);  // under the lock so far
      for (const Event& event : events) {
        if (event.takes)
          done.acquire(graph.after(event.call));
        else
          done.release(graph.before(event.call));
      }
    }
  }

 private:
  struct Event {
    Span call;
    bool takes;
  };
  static std::int64_t at(const Event& event) { return event.takes ? event.call.end_ns : event.call.begin_ns; }

  void see(model::EventRef event, const Record& record) {
    Operation operation = trace::operation_of(record.call);
    const trace::CallInfo* info = trace::find_call(record.call);
    if (operation == Operation::kOpen && info->payload == trace::PayloadKind::kFileOpen) {
      auto opened = trace::payload_of<payload::FileOpen>(record);
      if (opened.file) paths_[opened.file] = opened.path;
    } else if (operation == Operation::kClose && info->payload == trace::PayloadKind::kFileIo) {
      auto held = held_.find(trace::payload_of<payload::FileIo>(record).file);
      if (held == held_.end()) return;
      note(held->second, event, record, false);
      held_.erase(held);
    } else if (operation == Operation::kLock) {
      auto lock = trace::payload_of<payload::FileLock>(record);
      Does does = what_it_does(static_cast<trace::Call>(record.call), lock.operation);
      auto path = paths_.find(lock.file);
      if (!record.end || lock.error || path == paths_.end() || does == Does::kNothing) return;
      std::string place = places_.of(event.process, job_.processes[event.process].file.string(path->second));
      if (turns_shared(lock, static_cast<trace::Call>(record.call))) note(place, event, record, false);
      note(place, event, record, does == Does::kTakes);
      if (does == Does::kTakes) held_[lock.file] = place;
      if (does == Does::kGivesBack) held_.erase(lock.file);
    }
  }

  // Who holds it alone lets others in, without giving it back.
  bool turns_shared(const payload::FileLock& lock, trace::Call call) {
    std::set<std::uint64_t>& parts = exclusive_[lock.file];
    bool gives_back = what_it_does(call, lock.operation) == Does::kGivesBack;
    if (gives_back && !lock.start) parts.clear();
    if (gives_back || !is_exclusive(call, lock.operation)) return parts.erase(lock.start) && !gives_back;
    parts.insert(lock.start);
    return false;
  }

  void note(const std::string& place, model::EventRef event, const Record& record, bool takes) {
    events_[place].push_back(
        {{{event.process, record.thread}, job_.begin_ns(event), job_.end_ns(event)}, takes});
  }

  const model::Job& job_;
  files::Places places_;
  std::unordered_map<std::uint32_t, std::uint32_t> paths_;  // by opening of the process at hand
  std::unordered_map<std::uint32_t, std::string> held_;     // likewise
  std::unordered_map<std::uint32_t, std::set<std::uint64_t>>
      exclusive_;                                     // likewise: where what is held begins
  std::map<std::string, std::vector<Event>> events_;  // by the locked file's place
};

}  // namespace

void add_lock_edges(const model::Job& job, Graph& graph) {
  LockEdges locks(job);
  for (std::uint32_t process = 0; process < job.processes.size(); ++process)
    if (job.processes[process].rank >= 0) locks.read(process);
  locks.add(graph);
}

}  // namespace ddpscope::ordering
