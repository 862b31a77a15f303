// shared-device: two ranks on one GPU, or a rank that holds memory on another's (rule D5 of the catalogue).
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "collector/detectors/detector.h"
#include "collector/detectors/foreign_memory.h"
#include "collector/detectors/story.h"
#include "collector/patterns/trainings.h"

namespace ddpscope::detectors {
namespace {

using patterns::DeviceUse;
using patterns::Gpu;
using patterns::Seat;

constexpr const char* kSlug = "shared-device";
constexpr std::size_t kMaxOfAKind =
    8;  // ranks in the evidence: a job of a thousand tells its story with a few

constexpr std::int64_t kAlways = std::numeric_limits<std::int64_t>::max();

findings::Finding begin_finding(const char* advice) {
  findings::Finding finding;
  finding.slug = kSlug;
  finding.first_ns = kAlways;
  finding.last_ns = std::numeric_limits<std::int64_t>::min();
  finding.advice = advice;
  return finding;
}

void extend(findings::Finding& finding, std::int64_t from_ns, std::int64_t to_ns) {
  finding.first_ns = std::min(finding.first_ns, from_ns);
  finding.last_ns = std::max(finding.last_ns, to_ns);
}

// A rank that uses a GPU together with others: where it shows, and the call that chose the device.
struct Sharer {
  std::int32_t rank;
  model::EventRef use;
  model::EventRef choice;
  std::uint8_t ordinal;
  bool refused;
};
struct SharedGpu {
  Gpu gpu;
  std::vector<Sharer> sharers;  // by rank
  bool in_one_communicator;     // else they train on it, each in a group of its own
};

bool has_variable(const model::Process& process, std::string_view prefix) {
  auto first = process.environment.lower_bound(prefix);
  return first != process.environment.end() && first->first.starts_with(prefix);
}

// NCCL 2.30's own switch.
bool allows_sharing(const model::Process& process) {
  auto allowed = process.environment.find("NCCL_MULTI_RANK_GPU_ENABLE");
  return allowed != process.environment.end() && allowed->second == "1";
}

// Members of a communicator on one GPU: NCCL refuses them, unless it finds the hosts to be two (containers).
std::vector<SharedGpu> find_shared_by_members(const Facts& facts, const DeviceUse& use) {
  std::map<std::pair<std::uint64_t, Gpu>, std::map<std::int32_t, const Seat*>> members;  // last by rank there
  for (const Seat& seat : use.seats())
    members[{seat.communicator, seat.gpu}][seat.rank_in_communicator] = &seat;
  std::vector<SharedGpu> all;
  for (const auto& [where, seats] : members) {
    if (seats.size() < 2) continue;
    bool meant = std::all_of(seats.begin(), seats.end(), [&](const auto& entry) {
      return !entry.second->refused && allows_sharing(facts.job.processes[entry.second->made.process]);
    });
    if (meant) continue;
    SharedGpu shared{where.second, {}, true};
    for (const auto& [rank, seat] : seats)
      shared.sharers.push_back({seat->rank, seat->made,
                                patterns::choice_of(facts.job, seat->made, seat->ordinal), seat->ordinal,
                                seat->refused});
    all.push_back(std::move(shared));
  }
  return all;
}

// Whether any GPU is known to several ranks: else there is nothing to look for. As their own: to each that
// has no seat elsewhere only.
bool meet_anywhere(const Facts& facts, const DeviceUse& use, bool as_their_own) {
  std::map<Gpu, std::int32_t> first;
  for (std::uint32_t process = 0; process < facts.job.processes.size(); ++process) {
    std::int32_t rank = facts.job.processes[process].rank;
    for (const auto& [ordinal, gpu] : use.of_process(process)) {
      if (as_their_own && use.has_seat(rank) && !use.has_seat(rank, gpu)) continue;
      if (first.emplace(gpu, rank).first->second != rank) return true;
    }
  }
  return false;
}

std::optional<Sharer> trains_on(const Facts& facts, const patterns::Training& training) {
  const model::Process& process = facts.job.processes[training.first.process];
  if (!training.updates || has_variable(process, "CUDA_MPS_") || allows_sharing(process)) return std::nullopt;
  auto device = trace::payload_of<trace::payload::Launch>(facts.job.record(training.first)).device;
  return Sharer{training.rank, training.first, patterns::choice_of(facts.job, training.first, device), device,
                false};
}

// Without a common communicator: they run their optimizers on it.
std::vector<SharedGpu> find_shared_in_training(const Facts& facts, const DeviceUse& use) {
  std::map<Gpu, std::vector<Sharer>> trained;
  for (const patterns::Training& training : patterns::find_trainings(facts.job)) {
    std::optional<Sharer> sharer = trains_on(facts, training);
    const Gpu* gpu = sharer ? use.find(training.first.process, sharer->ordinal) : nullptr;
    if (gpu && (!use.has_seat(training.rank) || use.has_seat(training.rank, *gpu)))
      trained[*gpu].push_back(*sharer);
  }
  std::vector<SharedGpu> all;
  for (auto& [gpu, sharers] : trained)
    if (sharers.size() > 1) all.push_back({gpu, std::move(sharers), false});
  return all;
}

std::string describe_place_of(const model::Process& process) {
  std::string text;
  for (const char* name : {"LOCAL_RANK", "CUDA_VISIBLE_DEVICES"})
    if (auto value = process.environment.find(name); value != process.environment.end())
      text += fmt::format("{}{} is {}", text.empty() ? "; " : ", ", name, value->second);
  return text;
}

void tell_sharers(const Facts& facts, const SharedGpu& shared, std::vector<findings::Evidence>& evidence) {
  for (std::size_t i = 0; i < std::min(shared.sharers.size(), kMaxOfAKind); ++i) {
    const Sharer& own = shared.sharers[i];
    const model::Process& process = facts.job.processes[own.use.process];
    evidence.push_back(evidence_of(facts.job, own.choice,
                                   fmt::format("device {} is {}{}", own.ordinal,
                                               name_of(facts.job, shared.gpu), describe_place_of(process))));
    evidence.back().rank = own.rank;
  }
  const Sharer& first = shared.sharers.front();
  const char* detail = !shared.in_one_communicator ? "the first update of its model"
                       : first.refused             ? "NCCL refuses two ranks on one GPU"
                                                   : "two of its members are on this GPU";
  evidence.push_back(evidence_of(facts.job, first.use, detail));
  evidence.back().rank = first.rank;
}

std::vector<std::vector<std::int32_t>> ranks_of(const std::vector<const SharedGpu*>& sets) {
  std::vector<std::vector<std::int32_t>> ranks;
  for (const SharedGpu* set : sets) {
    std::vector<std::int32_t>& own = ranks.emplace_back();
    for (const Sharer& sharer : set->sharers) own.push_back(sharer.rank);
    std::sort(own.begin(), own.end());
  }
  return ranks;
}

std::string describe_sets(const Facts& facts, const std::vector<const SharedGpu*>& sets) {
  const SharedGpu& first = *sets.front();
  const char* verb = first.in_one_communicator ? "use" : "train on";
  std::string text = list_sets(ranks_of(sets), "; ");
  text +=
      sets.size() > 1 ? fmt::format(": each set {}s one GPU", verb) : fmt::format(" {} the same GPU", verb);
  bool refused = std::any_of(first.sharers.begin(), first.sharers.end(),
                             [](const Sharer& sharer) { return sharer.refused; });
  return text + at(facts.places.of(first.sharers.front().choice)) +
         (refused ? ": NCCL makes no communicator of them" : ": each gets a part of its time and memory");
}

constexpr const char* kGpuEach =
    "Give each rank a GPU of its own before its first CUDA call: "
    "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"])), or a CUDA_VISIBLE_DEVICES of its own. Start no "
    "more "
    "ranks on a node than it has GPUs.";

// Sets whose first ranks chose the device at one place in the program.
void report_shared(const Facts& facts, const std::vector<const SharedGpu*>& sets,
                   findings::Outcome& outcome) {
  const SharedGpu& first = *sets.front();
  findings::Finding finding = begin_finding(kGpuEach);
  finding.title = describe_sets(facts, sets);
  std::set<std::int32_t> ranks;
  for (const auto& own : ranks_of(sets)) ranks.insert(own.begin(), own.end());
  finding.ranks.assign(ranks.begin(), ranks.end());
  if (!first.in_one_communicator) {
    finding.severity = findings::Severity::kWarning;
    finding.confidence = findings::Confidence::kLikely;
  }
  for (const SharedGpu* set : sets)
    for (const Sharer& sharer : set->sharers)
      extend(finding, facts.job.begin_ns(sharer.choice), facts.job.end_ns(sharer.use));
  tell_sharers(facts, first, finding.evidence);
  // Without a communicator of them a missing group is another bug: only what NCCL refused follows from this.
  if (first.in_one_communicator) finding.place = {finding.ranks, finding.first_ns, kAlways};
  finding.key = "same " + findings::key_of_frame(facts.places.of(first.sharers.front().choice));
  outcome.findings.push_back(std::move(finding));
}

void report_all_shared(const Facts& facts, const std::vector<SharedGpu>& shared, findings::Outcome& outcome) {
  std::map<std::string, std::vector<const SharedGpu*>> by_place;
  for (const SharedGpu& one : shared) by_place[facts.places.of(one.sharers.front().choice)].push_back(&one);
  for (auto& [place, sets] : by_place) {
    std::sort(sets.begin(), sets.end(), [](const SharedGpu* a, const SharedGpu* b) {
      return a->sharers.front().rank < b->sharers.front().rank;
    });
    report_shared(facts, sets, outcome);
  }
}

std::string describe_owners(const std::vector<ForeignMemory>& all) {
  std::set<std::int32_t> owners;
  for (const ForeignMemory& one : all) owners.insert(one.owners.begin(), one.owners.end());
  return (owners.size() == 1 ? "the GPU of " : "GPUs of ") + list_ranks({owners.begin(), owners.end()});
}

void tell_foreign(const Facts& facts, const DeviceUse& use, const std::vector<ForeignMemory>& all,
                  std::vector<findings::Evidence>& evidence) {
  for (std::size_t i = 0; i < std::min(all.size(), kMaxOfAKind); ++i) {
    evidence.push_back(evidence_of(
        facts.job, all[i].first,
        fmt::format("from here on it holds memory on {}: {} bytes{}", name_of(facts.job, all[i].gpu),
                    all[i].bytes,
                    all[i].allocations == 1 ? "" : fmt::format(" in {} allocations", all[i].allocations))));
    evidence.back().rank = all[i].rank;
  }
  auto owner = std::find_if(use.seats().begin(), use.seats().end(), [&](const Seat& seat) {
    return seat.gpu == all.front().gpu && seat.rank == all.front().owners.front();
  });
  if (owner == use.seats().end()) return;
  evidence.push_back(evidence_of(facts.job, owner->made, "takes part in the job with this GPU"));
  evidence.back().rank = owner->rank;
}

constexpr const char* kOwnFirst =
    "Make each rank's own GPU current before anything that may allocate, torch.cuda.set_device(LOCAL_RANK), "
    "and "
    "load with map_location=\"cpu\" or the rank's own device: without it tensors come back on the device "
    "that they "
    "were saved from.";

// Of ranks that hold it for the same line of the program.
void report_foreign(const Facts& facts, const DeviceUse& use, const std::vector<ForeignMemory>& all,
                    findings::Outcome& outcome) {
  findings::Finding finding = begin_finding(kOwnFirst);
  std::set<std::int32_t> holders, concerned;
  std::uint64_t bytes = 0;
  bool exhausted = false;
  for (const ForeignMemory& one : all) {
    holders.insert(one.rank);
    concerned.insert(one.rank);
    concerned.insert(one.owners.begin(), one.owners.end());
    bytes += one.bytes;
    exhausted |= one.exhausted;
    extend(finding, one.from_ns, one.to_ns);
  }
  finding.ranks = {holders.begin(), holders.end()};
  finding.severity = exhausted ? findings::Severity::kError : findings::Severity::kWarning;
  finding.title = fmt::format(
      "{} {} {} bytes on {}{}{}", list_ranks(finding.ranks), verb(finding.ranks, "holds", "hold"), bytes,
      describe_owners(all), at(facts.places.of(all.front().first)),
      exhausted ? ", where memory runs out" : verb(finding.ranks, " while it trains", " while they train"));
  tell_foreign(facts, use, all, finding.evidence);
  finding.place = {{concerned.begin(), concerned.end()}, finding.first_ns, kAlways};
  finding.key = "foreign " + findings::key_of_frame(facts.places.of(all.front().first));
  outcome.findings.push_back(std::move(finding));
}

void judge_foreign_memory(const Facts& facts, const DeviceUse& use, findings::Outcome& outcome) {
  std::map<std::string, std::vector<ForeignMemory>> by_place;
  for (ForeignMemory& one : find_foreign_memory(facts, use)) {
    if (one.certain)
      by_place[facts.places.of(one.first)].push_back(std::move(one));
    else
      outcome.coverage.push_back(
          {fmt::format("memory of rank {} on {}", one.rank, name_of(facts.job, one.gpu)),
           "it was obtained, and whether it was given back the ring has overwritten",
           {kSlug}});
  }
  for (const auto& [place, all] : by_place) report_foreign(facts, use, all, outcome);
}

// False: nothing of it can be judged.
bool tell_unknown(const Facts& facts, const DeviceUse& use, findings::Outcome& outcome) {
  std::vector<std::int32_t> unknown;
  std::size_t ranks = 0;
  bool any_call = false;
  for (std::uint32_t process = 0; process < facts.job.processes.size(); ++process) {
    const model::Process& own = facts.job.processes[process];
    if (own.role != model::Role::kRank) continue;
    ++ranks;
    any_call |= own.calls[static_cast<std::size_t>(model::CallClass::kCuda)] > 0;
    if (use.of_process(process).empty()) unknown.push_back(own.rank);
  }
  std::sort(unknown.begin(), unknown.end());
  if (unknown.empty() || facts.job.ranks().size() < 2) return true;
  bool all = unknown.size() == ranks;
  outcome.coverage.push_back(
      {all ? "which GPUs the ranks use" : "which GPUs are used by " + list_ranks(unknown),
       any_call ? "their UUIDs were not recorded"
                : "no call of CUDA's runtime was recorded: they use no GPU, or one by ways that "
                  "the preload does not reach (a static runtime, the driver's functions)",
       {kSlug},
       all});
  return !all;
}

}  // namespace

void detect_shared_device(const Facts& facts, findings::Outcome& outcome) {
  DeviceUse use(facts.job);
  if (!tell_unknown(facts, use, outcome) || !meet_anywhere(facts, use, false)) return;
  std::vector<SharedGpu> shared = find_shared_by_members(facts, use);
  if (shared.empty() && meet_anywhere(facts, use, true)) shared = find_shared_in_training(facts, use);
  report_all_shared(facts, shared, outcome);
  judge_foreign_memory(facts, use, outcome);
}

}  // namespace ddpscope::detectors
