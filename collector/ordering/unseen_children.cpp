// A pass over the records of each judged thread, and of its process, whatever the number of such processes.
#include "collector/ordering/unseen_children.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace ddpscope::ordering {
namespace {

// When the calls of a thread begin and end.
std::vector<std::int64_t> find_moments(const model::Job& job, ThreadId thread) {
  std::vector<std::int64_t> moments;
  model::for_each(job.processes[thread.process].file,
                  [&](model::EventPlace place, const trace::Record& record) {
                    if (record.thread != thread.thread) return;
                    moments.push_back(job.begin_ns({thread.process, place}));
                    moments.push_back(job.end_ns({thread.process, place}));
                  });
  std::sort(moments.begin(), moments.end());
  return moments;
}

// What other processes may notice of one, if nothing hands it over that is recorded: not what its own threads
// do, look for and read, nor that it asks or waits for its own device, nor that it fails. A device that
// becomes current for the first time counts: it then shows in the lists of a GPU's processes. So does what is
// not known here.
class NoticeableCalls {
 public:
  NoticeableCalls(const model::Job& job, std::uint32_t process) {
    const trace::TraceFile& file = job.processes[process].file;
    bool locks = false;
    model::for_each(file, {Operation::kLock}, [&](model::EventPlace, const trace::Record&) { locks = true; });
    model::for_each(file, [&](model::EventPlace place, const trace::Record& record) {
      if (is_quiet(record, locks)) return;
      calls_.emplace_back(job.begin_ns({process, place}), job.end_ns({process, place}));
    });
    std::sort(calls_.begin(), calls_.end());
    for (std::size_t i = 1; i < calls_.size(); ++i)
      calls_[i].second = std::max(calls_[i].second, calls_[i - 1].second);
  }

  // When the last of those returned that began before; nothing without any.
  std::optional<std::int64_t> last_end_ns(std::int64_t before_ns) const {
    auto next = std::lower_bound(calls_.begin(), calls_.end(), std::pair(before_ns, kEarliest));
    return next == calls_.begin() ? std::nullopt : std::optional((next - 1)->second);
  }

 private:
  using Operation = trace::Operation;
  static constexpr std::int64_t kEarliest = std::numeric_limits<std::int64_t>::min();

  static constexpr trace::OperationSet kQuiet{Operation::kRead,
                                              Operation::kSeek,
                                              Operation::kStat,
                                              Operation::kAccess,
                                              Operation::kOpenDirectory,
                                              Operation::kReadDirectory,
                                              Operation::kChangeDirectory,
                                              Operation::kDuplicate,
                                              Operation::kSetting,
                                              Operation::kThread,
                                              Operation::kThreadCreate,
                                              Operation::kThreadJoin,
                                              Operation::kHandOver,
                                              Operation::kRelease,
                                              Operation::kWaitingSite,
                                              Operation::kWaitChild,
                                              Operation::kTraceback,
                                              Operation::kThreadSeen,
                                              Operation::kCommunicatorQuery,
                                              Operation::kSetDevice,
                                              Operation::kDeviceWait,
                                              Operation::kStreamWait,
                                              Operation::kEventWait,
                                              Operation::kStreamQuery,
                                              Operation::kEventQuery,
                                              Operation::kDeviceTiming,
                                              Operation::kDeviceClock};

  static bool is_quiet(const trace::Record& record, bool locks) {
    switch (trace::operation_of(record.call)) {
      case Operation::kOpen:
        return is_quiet_open(trace::payload_of<trace::payload::FileOpen>(record));
      case Operation::kClose:  // gives up locks on the file
        return !locks;
      case Operation::kWrite:
        return is_quiet_output(trace::payload_of<trace::payload::FileIo>(record));
      case Operation::kStreamSend:
        return is_quiet_output(trace::payload_of<trace::payload::StreamIo>(record));
      case Operation::kExit:
        return trace::payload_of<trace::payload::Process>(record).status != 0;
      default:
        return kQuiet.has(trace::operation_of(record.call));
    }
  }

  // Of a pipe that has a name it lets go on who opens the other end.
  static bool is_quiet_open(const trace::payload::FileOpen& open) {
    return !(open.flags & (O_CREAT | O_TRUNC)) && (open.mode & S_IFMT) != S_IFIFO;
  }

  // Nobody waits for what is printed to the standard error stream.
  template <class Output>
  static bool is_quiet_output(const Output& output) {
    return output.fd == STDERR_FILENO || output.bytes == 0;
  }

  std::vector<std::pair<std::int64_t, std::int64_t>> calls_;  // begin, latest end by then
};

bool any_between(const std::vector<std::int64_t>& moments, std::int64_t from_ns, std::int64_t to_ns) {
  auto first = std::lower_bound(moments.begin(), moments.end(), from_ns);
  return first != moments.end() && *first <= to_ns;
}

}  // namespace

void add_unseen_work(const model::Job& job, const std::vector<ThreadId>& judged,
                     const std::vector<UnseenWork>& unseen, Graph& graph) {
  if (unseen.empty()) return;
  bool by_time = std::any_of(unseen.begin(), unseen.end(),
                             [](const UnseenWork& work) { return work.from_ns.has_value(); });
  std::map<std::uint32_t, NoticeableCalls> noticeable;  // by process
  for (ThreadId thread : judged) {
    std::vector<std::int64_t> moments;
    if (by_time) moments = find_moments(job, thread);
    const NoticeableCalls& calls = noticeable.try_emplace(thread.process, job, thread.process).first->second;
    for (const UnseenWork& work : unseen) {
      const model::Process& process = job.processes[thread.process];
      if (thread == work.by || process.first_ns >= work.until_ns) continue;
      if (process.rank >= 0 && process.rank == work.started_by) continue;
      if (work.from_ns && !any_between(moments, *work.from_ns, work.until_ns)) continue;
      // Two that are told at the same time do not tell each other.
      if (auto noticed_ns = calls.last_end_ns(work.until_ns))
        graph.edge(graph.up_to(thread, std::min(*noticed_ns, work.until_ns - 1)), work.told,
                   EdgeKind::kProcess, Trust::kUnseen);
    }
  }
}

}  // namespace ddpscope::ordering
