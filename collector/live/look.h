// A look at a job that may still run: who waits for whom. By the rules and in the words of hung-collective,
// from the latest part of the trace.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "collector/findings/finding.h"
#include "collector/live/machine.h"
#include "collector/model/job.h"
#include "trace/result.h"
#include "trace/write/identity.h"

namespace ddpscope::live {

enum class Condition : std::uint8_t { kRunning, kSlow, kStuck, kEnded };
const char* name_of(Condition condition);

// By what it is known whether ranks wait.
enum class Judged : std::uint8_t { kNothing, kCollectives, kTcp };

// One reason for which ranks wait.
struct Stall {
  findings::Finding finding;  // of hung-collective; ranks are those at fault
  bool stuck = false;         // else slow
  std::int64_t waited_ns = 0;
  std::int64_t needed_ns = 0;         // from when on it counts
  std::vector<std::int32_t> waiting;  // ranks
};

struct RankNow {
  std::int32_t rank = -1;
  std::string process;  // HOST:PID
  Condition condition = Condition::kRunning;
  std::string doing;  // "inside cudaStreamSynchronize for 3.2 s"
  std::string place;  // in the program; empty if not known
  std::string now;    // at this moment, as the machine says; empty if a call tells or nobody does
  std::vector<std::string> workers;  // what its workers have been inside of for long
};

// What moves while a process does something. By host, pid and start time.
struct Sign {
  std::int64_t acted_ns = 0;  // begin or end of the last call of the thread that issues collectives
  Activity activity;          // of a rank that runs here
  std::uint64_t moved = 0;    // bytes, by that thread; likewise
};
using Signs = std::map<std::tuple<std::uint64_t, std::int32_t, std::uint64_t>, Sign>;

struct Look {
  Condition condition = Condition::kRunning;
  std::vector<Stall> stalls;   // stuck ones first, then by how long they wait
  std::vector<RankNow> ranks;  // ascending
  std::int32_t world_size = 0;
  std::int64_t now_ns = 0;  // since the job's start
  Judged judged = Judged::kNothing;
  std::vector<std::string> unjudged;
  std::vector<std::int32_t> unseen;  // ranks that this machine cannot ask: of other hosts or containers
  std::vector<Error> errors;         // files that could not be read, or only in part
  Signs signs;
  std::int64_t at_ns = 0;  // of this machine's monotonic clock
};

// `here`: who looks, and where. Nothing is stuck at the first look: `earlier`, a look at the
// same job at least a tenth of a second before, tells who has moved since. Errors as reading::read_trace.
Result<Look> look_at(const std::filesystem::path& trace, const trace::Identity& here, const Look* earlier);

// Whether the job may run on, as it was read: a rank lives on this machine, or has ended since then, or no
// rank has ended, and one of another host has recorded something in the last ten seconds.
bool may_run_on(const model::Job& job, const trace::Identity& here);

// Two looks if the first one finds what may be stuck.
Result<Look> look_twice(const std::filesystem::path& trace, const trace::Identity& here);

}  // namespace ddpscope::live
