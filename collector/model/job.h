// A job in memory: its hosts, processes and ranks, and the clock that they share. What the layers above
// derive (communicators, order, steps) lives in their own tables; they refer to events by place, never by
// copy.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "collector/model/time_order.h"
#include "collector/model/unrecorded.h"
#include "trace/read/clock_line.h"
#include "trace/read/trace_file.h"

namespace ddpscope::model {

enum class Role : std::uint8_t {
  kRank,
  kWorker,    // forked or spawned by a rank (loader, checkpoint writer)
  kLauncher,  // an ancestor of ranks
  kOther,
};

// What a call is about, for counting.
enum class CallClass : std::uint8_t { kNccl, kCuda, kFiles, kSockets, kProcess, kProcessGroups };
constexpr std::size_t kCallClasses = 6;
const char* name_of(CallClass call_class);
const char* name_of(Role role);
CallClass class_of(trace::PayloadKind payload);

// An event of the job.
struct EventRef {
  std::uint32_t process = 0;
  EventPlace place;
};

// Times of a trace may be hostile: within this limit the difference and the sum of any two fit.
constexpr std::int64_t kTimeLimit = 4'000'000'000'000'000'000;
constexpr std::int64_t kUnaligned = kTimeLimit;
constexpr std::int64_t limited(std::int64_t ns) { return std::clamp(ns, -kTimeLimit, kTimeLimit); }

// From a moment on: the job's time goes on from job_ns by `rate` a ns of the host's own.
struct ClockPiece {
  std::int64_t own_ns;
  std::int64_t job_ns;
  double rate;
};
// `pieces`: by own_ns, not empty; before the first its rate holds.
std::int64_t job_ns(const std::vector<ClockPiece>& pieces, std::int64_t own_ns);

enum class Alignment : std::uint8_t {
  kSteady,         // by exchanges with other hosts, or the job has no other one
  kUnsteady,       // likewise, but its clock did not keep a rate; the bound holds that
  kNoExchange,     // by its wall clock: nothing is known to come before or after what other hosts did
  kContradiction,  // by its wall clock: its clock was set or stood still, no line explains what is known
};

struct Host {
  std::uint64_t id;
  std::string name;
  trace::ClockLine clock;
  std::int64_t origin_ns = 0;        // its own time counts from here on its monotonic clock
  std::vector<ClockPiece> pieces{};  // by own_ns; empty: its own time is the job's
  std::uint32_t group = 0;           // hosts of one number have common exchanges, if by others
  std::int64_t clock_error_ns = 0;   // to the line of its group
  Alignment alignment = Alignment::kSteady;
};

constexpr std::uint16_t kMainThread = 1;  // of a process: the first that is met

// What the machine says of a process, asked while its job may still run.
enum class Life : std::uint8_t { kNotAsked, kRuns, kStopped, kGone };  // kStopped: by a signal

// A communicator that a process joined, as its own record says.
struct Membership {
  std::uint64_t id;            // equal on all members
  std::uint32_t communicator;  // number in this process
  std::uint32_t parent;        // likewise, 0 for none
  std::int32_t rank;
  std::int32_t size;
  EventPlace place;  // of the call that made it
};

// Where `ddpscope run` saw the main thread of a process at several looks.
struct Sighting {
  std::uint64_t first_ticks, last_ticks;  // of the looks
  std::string inside;                     // as trace::payload::Sighting has it; empty: it ran code of its own
  std::uint64_t cpu_ns;                   // that the process and all that it has made used meanwhile
  std::uint32_t looks, running;           // and those at which one of their threads ran
};

// For how long threads of a process were ready to run and had no processor, as it saw.
struct ProcessorWait {
  std::uint64_t first_ticks = 0, last_ticks = 0;  // of the looks; equal: nothing is known
  std::uint64_t waited_ns = 0;                    // of all threads together
};

struct Process {
  trace::TraceFile file;
  std::uint32_t host = 0;
  std::int32_t parent = -1;  // index of the process that made it; if that has no trace, why (makers.h)
  Role role = Role::kOther;
  std::int32_t rank = -1;  // that it is, or works for; the lowest where it holds several
  const char* rank_source = "";
  std::int32_t attempt = 0;
  std::uint64_t last_ticks = 0;   // of its last record
  std::uint64_t ended_ticks = 0;  // when the `ddpscope run` above it saw it end or, if that did not watch it,
                                  // ended itself; 0: its own records tell, or nobody saw
  std::int32_t ended_status = 0;  // how that run saw it end: exit code, or 128 + signal; 0 also: not known
  std::uint32_t memory_kills = 0;  // if SIGKILL ended it: how many processes of its memory cgroup the
                                   // kernel's out-of-memory killer had ended by then, as that run saw it
  std::uint64_t told_ticks = 0;    // when another process first sent it, or its whole job, a signal to end;
                                   // not one after which it issued collectives for long; 0: none was seen
  std::vector<Sighting> sightings{};  // in order of time, as far as that run kept them
  ProcessorWait processor_wait{};     // likewise
  Life life = Life::kNotAsked;
  std::string doing{};  // what the machine says its main thread, or the one that issues its collectives, is
                        // inside of: "is inside clock_nanosleep"; empty: not asked
  // It died while it still wrote what it is, before any call: its environment may lack something.
  bool cut_short = true;
  std::map<std::string_view, std::string_view> environment{};
  std::vector<std::string_view> arguments{};
  std::vector<Membership> memberships{};
  std::uint64_t unhooked = 0;  // operations of an NCCL that the hooks did not reach, as that told itself
  std::array<std::uint64_t, kCallClasses> calls{};  // folded ones counted in
  std::uint64_t ranges = 0, marks = 0;              // of the program's own (NVTX), by their begins
  std::int64_t first_ns = 0;                        // since the job's start
  std::int64_t last_ns = 0;

  const trace::FileHeader& header() const { return file.header(); }
  // As far as it says so itself, `ddpscope run` saw it, or the machine tells.
  bool ended_well() const { return header().ended && header().exit_code == 0; }
  bool has_ended() const { return header().ended || ended_ticks || life == Life::kGone; }
  trace::Record record(EventPlace place) const { return file.records()[place.span].records[place.index]; }
};

struct Job {
  std::vector<Host> hosts;
  std::vector<Process> processes;
  std::int32_t attempt = 0;         // the one analysed: processes of others are not in `processes`
  std::int32_t other_attempts = 0;  // how many there were besides
  std::uint64_t start_unix_ns = 0;
  std::int64_t duration_ns = 0;
  std::int64_t clock_error_ns = 0;     // the largest of clock_error_between
  std::int32_t world_size = 0;         // as communicators and environment say; 0 if nothing does
  std::vector<Unrecorded> unrecorded;  // processes that are missing for want of a file

  std::int64_t time_ns(std::uint32_t process, std::uint64_t ticks) const {
    const Host& host = hosts[processes[process].host];
    std::int64_t own_ns = limited(host.clock.monotonic_ns(ticks) - host.origin_ns);
    return host.pieces.empty() ? own_ns : job_ns(host.pieces, own_ns);
  }
  // What the times of two processes may be apart from the truth: one comes before the other only if its time
  // is earlier by more. Nothing at all is said by those of hosts that are not aligned: kUnaligned.
  std::int64_t clock_error_between(std::uint32_t a, std::uint32_t b) const {
    std::uint32_t one = processes[a].host, other = processes[b].host;
    return one == other ? 0 : host_error_between(one, other);
  }
  std::int64_t host_error_between(std::uint32_t a, std::uint32_t b) const;  // of two hosts
  // Of told_ticks; without it, the largest time.
  std::int64_t told_ns(std::uint32_t process) const {
    std::uint64_t ticks = processes[process].told_ticks;
    return ticks ? time_ns(process, ticks) : std::numeric_limits<std::int64_t>::max();
  }
  // One by its place costs a microsecond where calls are folded: who has a record asks for its times.
  trace::Record record(EventRef event) const { return processes[event.process].record(event.place); }
  std::int64_t begin_ns(EventRef event) const { return begin_ns(event.process, record(event)); }
  std::int64_t end_ns(EventRef event) const { return end_ns(event.process, record(event)); }
  std::int64_t begin_ns(std::uint32_t process, const trace::Record& record) const {
    return time_ns(process, record.begin);
  }
  // The end of a call that never returned is the end of what its process recorded.
  std::int64_t end_ns(std::uint32_t process, const trace::Record& record) const {
    return record.end ? time_ns(process, record.end) : processes[process].last_ns;
  }

  std::vector<std::int32_t> ranks() const;  // numbers met, ascending
  std::uint64_t calls() const;              // folded ones counted in
  std::uint64_t lost() const;               // events that recording had no room for, all processes
  std::int32_t process_of_rank(std::int32_t rank) const;  // index, -1 if no process is that rank
};

// One process of the system, as one program or another (exec).
bool is_one_process(const Process& a, const Process& b);
// Whether the process is a rank, as another program.
bool becomes_rank(const Job& job, const Process& process);

// Calls that a record stands for: runs of one call are folded into one.
std::uint64_t folded_calls(const trace::Record& record, const trace::CallInfo& info);

}  // namespace ddpscope::model
