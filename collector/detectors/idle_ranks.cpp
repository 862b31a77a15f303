// What the catalogue's section 3 calls "children idle, one process does the work".
#include "collector/detectors/idle_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "collector/detectors/kept_work.h"
#include "collector/detectors/story.h"
#include "collector/files/read_items.h"

namespace ddpscope::detectors {
namespace {

using patterns::Training;
using trace::Operation;

constexpr std::size_t kMostTold = 8;
constexpr trace::OperationSet kWork = trace::OperationSet::range(Operation::kAllReduce, Operation::kReceive) |
                                      trace::OperationSet{Operation::kLaunch, Operation::kGraphLaunch};

struct Stretch {
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max(), last_ns = 0;
};

Stretch stretch_of(const std::vector<Training>& trainings) {
  Stretch all;
  for (const Training& training : trainings) {
    all.first_ns = std::min(all.first_ns, training.first_ns);
    all.last_ns = std::max(all.last_ns, training.last_ns);
  }
  return all;
}

// A trace whose end nobody saw is that of a process which is still there.
bool is_there(const model::Process& process, const Stretch& training) {
  bool gone = process.header().ended || process.ended_ticks;
  std::int64_t half = training.first_ns + (training.last_ns - training.first_ns) / 2;
  return process.first_ns <= half && (!gone || process.last_ns >= half);
}

bool reads_samples(const Facts& facts, std::int32_t rank) {
  std::size_t items = 0;
  for (const files::ItemStream& stream : files::find_item_streams(facts.job, rank))
    items += stream.items.size();
  return items >= patterns::kLeastSamples;
}

bool is_idle(const Facts& facts, std::int32_t rank, const Stretch& training) {
  for (const model::Process& process : facts.job.processes)
    if (process.rank == rank && process.file.count(kWork) > 0) return false;
  bool saves = std::any_of(facts.written.begin(), facts.written.end(), [&](const files::WrittenFile& file) {
    return file.rank == rank && file.bytes >= kLeastSave;
  });
  std::int32_t process = facts.job.process_of_rank(rank);
  return process >= 0 && !saves &&
         is_there(facts.job.processes[static_cast<std::size_t>(process)], training) &&
         !reads_samples(facts, rank);
}

// Where the rank was when it began to idle: its last call, and the last one with a stack.
findings::Evidence tell_idle(const Facts& facts, std::int32_t rank, std::int64_t until_ns) {
  auto process = static_cast<std::uint32_t>(facts.job.process_of_rank(rank));
  model::EventRef last{process, {}}, traced = last;
  model::for_each_in_time(facts.job.processes[process].file,
                          [&](model::EventPlace place, const trace::Record& record) {
                            if (facts.job.begin_ns(process, record) > until_ns) return;
                            last = {process, place};
                            if (record.stack) traced = last;
                          });
  findings::Evidence evidence =
      evidence_of(facts.job, last, "its last call: it launches nothing and reads no samples");
  if (evidence.stack.empty()) evidence.stack = stack_of(facts.job, traced);
  return evidence;
}

}  // namespace

std::vector<std::int32_t> find_idle_ranks(const Facts& facts, const std::vector<Training>& trainings) {
  std::vector<std::int32_t> idle;
  if (trainings.empty()) return idle;
  Stretch training = stretch_of(trainings);
  for (std::int32_t rank : facts.job.ranks()) {
    bool trains = std::any_of(trainings.begin(), trainings.end(),
                              [&](const Training& one) { return one.rank == rank; });
    if (trains) continue;
    if (!is_idle(facts, rank, training)) return {};
    idle.push_back(rank);
  }
  return idle;
}

findings::Finding tell_idle_ranks(const Facts& facts, const std::vector<Training>& trainings,
                                  const std::vector<std::int32_t>& idle) {
  std::vector<std::int32_t> training;
  for (const Training& one : trainings) training.push_back(one.rank);
  Stretch stretch = stretch_of(trainings);
  findings::Finding finding;
  finding.slug = "no-process-group";
  finding.severity = findings::Severity::kWarning;
  finding.confidence = findings::Confidence::kLikely;
  finding.ranks = facts.job.ranks();
  finding.title = fmt::format(
      "{} {} while {} of the same job {} idle: nothing connects them, though the world "
      "size is {}",
      list_ranks(training), verb(training, "trains alone", "train"), list_ranks(idle),
      verb(idle, "stays", "stay"), facts.job.world_size);
  finding.first_ns = stretch.first_ns;
  finding.last_ns = stretch.last_ns;
  finding.advice =
      "See why these ranks do not come to the training: a test of the rank that lets only one through, a "
      "process group that is made only where a process sees several devices. Start as many processes as "
      "train.";
  finding.key = fmt::format("idle {}", facts.places.whole(trainings.front().first));
  finding.evidence.push_back(
      evidence_of(facts.job, trainings.front().first,
                  trainings.front().updates
                      ? fmt::format("the first of {} updates of its model", trainings.front().rounds)
                      : "the first of its samples"));
  for (std::size_t i = 0; i < std::min(idle.size(), kMostTold); ++i)
    finding.evidence.push_back(tell_idle(facts, idle[i], stretch.last_ns));
  finding.place = {finding.ranks, stretch.first_ns, stretch.last_ns};
  return finding;
}

}  // namespace ddpscope::detectors
