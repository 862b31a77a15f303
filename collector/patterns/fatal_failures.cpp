// Exit codes, and the last thing that a thread did for the job.
#include "collector/patterns/fatal_failures.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <map>

#include "collector/ordering/file_edges.h"

namespace ddpscope::patterns {
namespace {

using trace::Operation;
using OwnPipes = std::map<std::uint64_t, std::uint64_t>;  // one end and the other, by inode

// What goes to standard output or error is for people, also where a launcher reads it from a pipe; what a
// process sends to itself wakes a thread of its own.
bool is_message(const trace::Record& record, const OwnPipes& own_pipes) {
  auto io = trace::payload_of<trace::payload::StreamIo>(record);
  return trace::operation_of(record.call) == Operation::kStreamSend && io.fd > STDERR_FILENO &&
         !own_pipes.contains(io.inode);
}

bool is_progress(const trace::Record& record, const OwnPipes& own_pipes) {
  const trace::CallInfo* info = trace::find_call(record.call);
  if (!info) return false;
  if (info->payload == trace::PayloadKind::kCollective) return true;
  if (info->payload == trace::PayloadKind::kStreamIo) return is_message(record, own_pipes);
  if (info->operation != Operation::kOpen || info->payload != trace::PayloadKind::kFileOpen) return false;
  auto opening = trace::payload_of<trace::payload::FileOpen>(record);
  return !opening.error && opening.flags & O_CREAT;
}

// Pipes and pairs of sockets that a process has made, and from which no other one of its host receives.
OwnPipes find_own_pipes(const model::Job& job, std::uint32_t process) {
  OwnPipes own;
  model::for_each(job.processes[process].file, {Operation::kPair},
                  [&](model::EventPlace, const trace::Record& record) {
                    auto pair = trace::payload_of<trace::payload::Connection>(record);
                    own[pair.inode] = pair.peer_inode;
                    own[pair.peer_inode] = pair.inode;
                  });
  for (std::uint32_t other = 0; other < job.processes.size() && !own.empty(); ++other) {
    if (other == process || job.processes[other].host != job.processes[process].host) continue;
    model::for_each(job.processes[other].file, {Operation::kStreamReceive},
                    [&](model::EventPlace, const trace::Record& record) {
                      auto io = trace::payload_of<trace::payload::StreamIo>(record);
                      auto read = own.find(io.inode);
                      if (read == own.end()) return;
                      own.erase(read->second);
                      own.erase(io.inode);
                    });
  }
  return own;
}

}  // namespace

bool FatalFailures::ended(const files::FileEvent& failed) { return ended(ordering::span_of(failed)); }

bool FatalFailures::ended(const ordering::Span& failed) {
  auto [process, thread] = failed.thread;
  return by_itself(failed) && last_progress_ns(process, thread) < failed.begin_ns;
}

bool FatalFailures::by_itself(const ordering::Span& failed) const {
  const std::uint32_t process = failed.thread.process;
  const std::uint16_t thread = failed.thread.thread;
  const trace::FileHeader& header = job_.processes[process].header();
  const std::int64_t told_ns = job_.told_ns(process);
  if (failed.end_ns >= told_ns) return false;
  if (header.ended) return header.exit_code != 0 && !agreed(header.exit_code);
  bool raised = false;
  model::for_each(job_.processes[process].file, {Operation::kTraceback},
                  [&](model::EventPlace place, const trace::Record& record) {
                    std::int64_t at_ns = job_.begin_ns({process, place});
                    raised |= record.thread == thread && at_ns >= failed.end_ns && at_ns < told_ns;
                  });
  return raised;
}

bool FatalFailures::agreed(std::int32_t exit_code) const {
  if (exit_code <= 1) return false;  // 1 is what failures end with
  return std::all_of(job_.processes.begin(), job_.processes.end(), [&](const model::Process& process) {
    if (process.role != model::Role::kRank) return true;
    return process.header().ended && process.header().exit_code == exit_code;
  });
}

std::int64_t FatalFailures::last_progress_ns(std::uint32_t process, std::uint16_t thread) {
  auto known = progress_.find({process, thread});
  if (known != progress_.end()) return known->second;
  std::int64_t& last_ns = progress_[{process, thread}];
  last_ns = std::numeric_limits<std::int64_t>::min();
  const OwnPipes own_pipes = find_own_pipes(job_, process);
  model::for_each(job_.processes[process].file, [&](model::EventPlace place, const trace::Record& record) {
    if (record.thread == thread && is_progress(record, own_pipes))
      last_ns = std::max(last_ns, job_.begin_ns({process, place}));
  });
  return last_ns;
}

}  // namespace ddpscope::patterns
