// Missing ranks, losses, guessed ranks, unreadable files, slugs without a detector.
#include "collector/analysis/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "collector/detectors/detector.h"
#include "collector/findings/catalogue.h"
#include "collector/matching/group_collectives.h"
#include "collector/model/device_work.h"
#include "collector/model/process_name.h"
#include "collector/model/rank_variables.h"
#include "collector/model/unhooked.h"
#include "collector/ordering/losses.h"

namespace ddpscope::analysis {
namespace {

using findings::Coverage;
using model::Job;
using model::Process;
using trace::Health;

std::vector<std::string> all_slugs() {
  std::vector<std::string> slugs;
  for (const detectors::Detector& detector : detectors::all_detectors()) slugs.emplace_back(detector.slug);
  return slugs;
}

std::vector<std::string> collective_slugs() {
  return {"skipped-barrier", "mismatched-collective", "hung-collective"};
}

// The same program started twice with one RANK, at one time: another number was meant.
std::string tell_number_given_twice(const Job& job) {
  for (const Process& rank : job.processes)
    for (const Process& other : job.processes) {
      bool alike = rank.role == model::Role::kRank && other.role == model::Role::kOther &&
                   rank.arguments == other.arguments && !rank.arguments.empty() &&
                   (rank.host != other.host || rank.header().parent_pid != other.header().parent_pid);
      bool together = rank.first_ns < other.last_ns && other.first_ns < rank.last_ns;
      if (!alike || !together) continue;
      auto number = model::environment_number(rank, "RANK");
      if (number && number == model::environment_number(other, "RANK"))
        return fmt::format("; {} and {} both have RANK {}", model::process_name(job, rank),
                           model::process_name(job, other), *number);
    }
  return {};
}

void add_missing_ranks(const Job& job, std::vector<Coverage>& coverage) {
  std::vector<std::int32_t> present = job.ranks();
  auto in_world = std::upper_bound(present.begin(), present.end(), job.world_size - 1) - present.begin();
  std::int64_t count = job.world_size - in_world;
  if (count <= 0) return;
  constexpr int kNamed = 8;
  std::string missing;
  int named = 0;
  for (std::int32_t rank = 0; rank < job.world_size && named < kNamed; ++rank) {
    if (std::binary_search(present.begin(), present.end(), rank)) continue;
    missing += fmt::format("{}{}", named++ ? ", " : "", rank);
  }
  if (count > kNamed) missing += ", ...";
  coverage.push_back(
      {fmt::format("{} of {} ranks: {}", count, job.world_size, missing),
       "the folder holds no trace of them: not copied, not recorded, or they made no recorded call" +
           tell_number_given_twice(job),
       all_slugs(), present.size() < 2});
}

void add_attempts(const Job& job, std::vector<Coverage>& coverage) {
  if (!job.other_attempts) return;
  coverage.push_back(
      {fmt::format("{} other attempt{} of the job", job.other_attempts, job.other_attempts == 1 ? "" : "s"),
       fmt::format("the folder has more than one; attempt {} is analysed, `--attempt` names another",
                   job.attempt),
       {}});
}

void add_only_rank(const Job& job, std::vector<Coverage>& coverage) {
  if (job.ranks().size() != 1 || job.world_size > 1) return;
  coverage.push_back(
      {"what ranks do beside each other",
       "only one rank was recorded, and nothing says that there are more; a launcher that fails "
       "before it has started them looks the same",
       all_slugs(), true});
}

// Two or more ranks, and neither collectives nor files of theirs: silence would say nothing.
void add_unrecorded(const Job& job, const matching::Collectives& collectives,
                    std::vector<Coverage>& coverage) {
  if (job.ranks().size() < 2 || !collectives.calls.empty()) return;
  bool files = std::any_of(job.processes.begin(), job.processes.end(), [](const Process& process) {
    return process.calls[static_cast<std::size_t>(model::CallClass::kFiles)] > 0;
  });
  if (!files)
    coverage.push_back({"what the ranks do", "neither collectives nor file accesses of theirs were recorded",
                        all_slugs(), true});
}

void add_processes_without_file(const Job& job, std::vector<Coverage>& coverage) {
  for (std::string& sentence : model::to_sentences(job.unrecorded))
    coverage.push_back({"what was not recorded", std::move(sentence), all_slugs()});
}

void add_guessed_ranks(const Job& job, std::vector<Coverage>& coverage) {
  auto guessed = [](const Process& process) {
    return std::string_view(process.rank_source) == "order of start";
  };
  if (job.ranks().size() < 2 || std::none_of(job.processes.begin(), job.processes.end(), guessed)) return;
  coverage.push_back(
      {"the numbers of the ranks",
       "neither a communicator, the environment nor the store names them: numbered by order of start",
       {}});
}

// What a counter means to who reads a report; its name is for who asks `info`.
Coverage loss_of(const trace::HealthInfo& row, std::uint64_t count) {
  if (row.index != Health::hand_overs_lost) return {fmt::format("{}: {}", row.name, count), row.sentence, {}};
  return {"the order between threads of a process",
          fmt::format("what threads unlocked, signalled or posted was forgotten {} times before others could "
                      "take it: in such a process each may have told each other",
                      count),
          {}};
}

void add_losses(const Job& job, std::vector<Coverage>& coverage) {
  for (const trace::HealthInfo& row : trace::kHealth) {
    std::uint64_t count = 0;
    for (const Process& process : job.processes) count += process.file.health(row.index);
    if (count == 0 || std::string_view(row.severity) == "note") continue;
    Coverage loss = loss_of(row, count);
    std::vector<std::string>& unjudged = loss.unjudged;
    if (row.index == Health::kept_records_lost || row.index == Health::chunk_open_failed)
      unjudged = all_slugs();
    if (row.index == Health::items_lost) unjudged = {"unsharded-sampler", "repeated-epoch-order"};
    if (row.index == Health::digests_skipped) unjudged = {"duplicate-checkpoint-write"};
    if (row.index == Health::unknown_communicators) unjudged = collective_slugs();
    coverage.push_back(std::move(loss));
  }
}

std::vector<std::string> slugs_of_gradients() {
  return {"redundant-accumulation-sync", "missing-gradient-sync", "rank-divergence", "straggler",
          "exposed-communication"};
}

// What NCCL itself told of the collectives that no hook saw is not enough to compare ranks, or to order
// anything.
void add_unhooked_collectives(const Job& job, const matching::Collectives& collectives,
                              std::vector<Coverage>& coverage) {
  if (!ordering::has_unhooked_collectives(job)) return;
  std::uint64_t operations = 0, without_type = 0;
  std::uint8_t told_by = 0;
  std::set<std::uint64_t> ids;
  for (const Process& process : job.processes)
    for (const model::UnhookedCommunicator& known : model::unhooked_communicators(process)) {
      operations += known.operations;
      without_type += known.without_type;
      told_by |= known.told_by;
      if (known.operations) ids.insert(known.id);
    }
  std::vector<std::string> slugs = collective_slugs();
  for (const char* slug : {"missing-barrier", "ineffective-barrier", "checkpoint-race", "no-process-group"})
    slugs.emplace_back(slug);
  for (std::string& slug : slugs_of_gradients()) slugs.push_back(std::move(slug));
  std::string lacking =
      without_type ? fmt::format(", {} of them without data type and stream", without_type) : "";
  coverage.push_back(
      {fmt::format("{} operation{} of {} communicator{} of NCCL", operations, operations == 1 ? "" : "s",
                   ids.size(), ids.size() == 1 ? "" : "s"),
       fmt::format("no hook saw the calls (NCCL is linked statically with hidden symbols, or bound past the "
                   "preload: RTLD_DEEPBIND, dlmopen); that they were made NCCL tells {}{}",
                   model::teller_text(told_by), lacking),
       std::move(slugs), collectives.communicators.empty()});
}

void add_hidden_collectives(const Job& job, const matching::Collectives& collectives,
                            const std::set<std::string>& judged, std::vector<Coverage>& coverage) {
  if (job.ranks().size() < 2 || !collectives.communicators.empty() || ordering::has_unhooked_collectives(job))
    return;
  auto add = [&](std::string what, std::string why, std::vector<std::string> slugs) {
    std::erase_if(slugs, [&](const std::string& slug) { return judged.contains(slug); });
    if (!slugs.empty()) coverage.push_back({std::move(what), std::move(why), std::move(slugs), true});
  };
  const bool by_groups = judged.contains("skipped-barrier");
  if (by_groups) {
    add("collectives",
        fmt::format("the ranks talk by {} without NCCL: no device can be kept waiting",
                    matching::uses_mpi(job) ? "MPI" : "PyTorch's process groups"),
        {"exposed-communication"});
    add("when gradients are reduced",
        "no steps of models that DistributedDataParallel or FSDP wraps were recorded of all ranks",
        {"redundant-accumulation-sync", "missing-gradient-sync"});
    return;
  }
  std::vector<std::string> slugs = collective_slugs();
  slugs.emplace_back("slow-checkpoint");
  for (std::string& slug : slugs_of_gradients()) slugs.push_back(std::move(slug));
  add("collectives",
      "neither a communicator of NCCL or MPI nor a process group of PyTorch is known of all ranks: they talk "
      "by other means, through a library that the preload does not reach, or by calls that could not be read",
      std::move(slugs));
}

void add_missing_functions(const Job& job, std::vector<Coverage>& coverage) {
  std::set<std::string> names, slugs;
  for (const Process& process : job.processes)
    model::for_each(process.file, {trace::Operation::kMissingFunction},
                    [&](model::EventPlace, const trace::Record& record) {
                      auto data = trace::payload_of<trace::payload::TrainingCall>(record);
                      std::string name(process.file.string(data.name));
                      bool trains =
                          name.starts_with("reducer") || name == "backward" || name == "parameter_gradient";
                      for (std::string& slug : trains ? slugs_of_gradients() : collective_slugs())
                        slugs.insert(std::move(slug));
                      names.insert(std::move(name));
                    });
  if (names.empty()) return;
  coverage.push_back({fmt::format("calls of PyTorch: {}", fmt::join(names, ", ")),
                      "the loaded PyTorch has none of the names that ddpscope knows of these functions",
                      {slugs.begin(), slugs.end()}});
}

void add_signals(const matching::Collectives& collectives, std::vector<Coverage>& coverage) {
  auto any = [](const matching::Communicator& communicator) {
    return std::any_of(communicator.members.begin(), communicator.members.end(),
                       [](const matching::Member& member) { return member.one_sided; });
  };
  if (std::any_of(collectives.communicators.begin(), collectives.communicators.end(), any))
    coverage.push_back(
        {"signals between ranks",
         "which ncclSignal or ncclPutSignal ends which ncclWaitSignal is not followed: who waits "
         "for one in vain is not told",
         {"hung-collective"}});
}

void add_unknown_graphs(const matching::Collectives& collectives, std::vector<Coverage>& coverage) {
  std::set<std::int32_t> ranks;
  for (const matching::Communicator& communicator : collectives.communicators)
    for (const matching::Member& member : communicator.members)
      if (member.unknown_graphs) ranks.insert(member.rank);
  if (ranks.empty()) return;
  std::vector<std::string> slugs = collective_slugs();
  for (std::string& slug : slugs_of_gradients()) slugs.push_back(std::move(slug));
  coverage.push_back(
      {fmt::format("collectives in graphs of {} rank{}", ranks.size(), ranks.size() == 1 ? "" : "s"),
       "bodies of conditional nodes, and graphs that were copied or put together by hand: which "
       "collectives ran, and how often, is not known, and what their communicators' ranks call is "
       "not compared",
       std::move(slugs)});
}

// Which tier it was `info` tells of each rank; here only that what was asked for gave none.
void add_untimed_devices(const Job& job, std::vector<Coverage>& coverage) {
  std::map<std::string, std::size_t> ranks;  // by what stood against it
  for (std::uint32_t i = 0; i < job.processes.size(); ++i)
    if (std::string why = model::why_untimed(job, i); !why.empty()) ++ranks[why];
  for (const auto& [why, count] : ranks)
    coverage.push_back({fmt::format("when the devices of {} rank{} did what", count, count == 1 ? "" : "s"),
                        "the tier of their times is none: " + why,
                        {}});
}

std::string hosts_text(const Job& job, bool (*concerns)(const Job&, std::uint32_t)) {
  constexpr std::size_t kNamed = 8;
  std::set<std::uint32_t> used;
  for (const Process& process : job.processes) used.insert(process.host);
  std::erase_if(used, [&](std::uint32_t host) { return !concerns(job, host); });
  std::string text;
  std::size_t named = 0;
  for (std::uint32_t host : used) {
    if (named++ == kNamed) return text + ", ...";
    text += (text.empty() ? "" : ", ") + job.hosts[host].name;
  }
  return text;
}

// Findings that ask what came first on different hosts where no call of the trace says so.
std::vector<std::string> slugs_of_time() {
  return {"missing-barrier",           "ineffective-barrier",        "checkpoint-race",
          "divergent-existence-check", "duplicate-checkpoint-write", "hung-collective"};
}

void add_clocks(const Job& job, std::vector<Coverage>& coverage) {
  using model::Alignment;
  auto add = [&](std::string hosts, const char* why, std::vector<std::string> unjudged) {
    if (!hosts.empty()) coverage.push_back({"the clocks of hosts: " + hosts, why, std::move(unjudged)});
  };
  if (job.clock_error_ns >= model::kUnaligned)
    add(hosts_text(job,
                   [](const Job& of, std::uint32_t host) {
                     return of.hosts[host].alignment != Alignment::kContradiction &&
                            of.hosts[host].group != 0;
                   }),
        "nothing passed between them and the first host of which both sides are known (a collective that the "
        "host waits for, a message): placed by their wall clocks, which bound nothing",
        slugs_of_time());
  add(hosts_text(job,
                 [](const Job& of, std::uint32_t host) {
                   return of.hosts[host].alignment == Alignment::kContradiction;
                 }),
      "no clock that runs steadily explains what passed between hosts: it was set, or stood still "
      "(a suspended host, a virtual machine that moved); placed by their wall clocks, which bound nothing",
      slugs_of_time());
  add(hosts_text(job, [](const Job& of,
                         std::uint32_t host) { return of.hosts[host].alignment == Alignment::kUnsteady; }),
      "they did not keep one rate against the others; the bound on the clocks is wider by what was seen of "
      "it",
      {});
}

void add_unbuilt(std::vector<Coverage>& coverage) {
  Coverage entry{"findings without a detector", "not in this version", {}, true};
  std::set<std::string_view> built;
  for (const detectors::Detector& detector : detectors::all_detectors()) built.insert(detector.slug);
  for (const findings::CatalogueRow& row : findings::catalogue())
    if (!built.count(row.slug)) entry.unjudged.emplace_back(row.slug);
  if (!entry.unjudged.empty()) coverage.push_back(std::move(entry));
}

}  // namespace

void add_coverage(const Job& job, const matching::Collectives& collectives,
                  const std::set<std::string>& judged, const std::vector<Error>& errors,
                  std::vector<Coverage>& coverage) {
  for (const Error& error : errors) coverage.push_back({error.where, error.what, all_slugs()});
  add_missing_ranks(job, coverage);
  add_attempts(job, coverage);
  add_only_rank(job, coverage);
  add_unrecorded(job, collectives, coverage);
  add_processes_without_file(job, coverage);
  add_guessed_ranks(job, coverage);
  add_losses(job, coverage);
  add_clocks(job, coverage);
  add_untimed_devices(job, coverage);
  add_unhooked_collectives(job, collectives, coverage);
  add_hidden_collectives(job, collectives, judged, coverage);
  add_missing_functions(job, coverage);
  add_signals(collectives, coverage);
  add_unknown_graphs(collectives, coverage);
  add_unbuilt(coverage);
}

void keep_requested(const std::vector<std::string>& only, std::vector<Coverage>& coverage) {
  auto unwanted = [&](const std::string& slug) {
    return std::find(only.begin(), only.end(), slug) == only.end();
  };
  std::erase_if(coverage, [&](Coverage& entry) {
    bool concerned = !entry.unjudged.empty();
    std::erase_if(entry.unjudged, unwanted);
    return concerned && entry.unjudged.empty();
  });
}

Unjudged find_unjudged(const std::vector<Coverage>& coverage) {
  Unjudged found;
  std::vector<std::string> built = all_slugs();
  for (const Coverage& entry : coverage)
    for (const std::string& slug : entry.unjudged)
      if (std::find(built.begin(), built.end(), slug) != built.end())
        (entry.entirely ? found.entirely : found.in_part).insert(slug);
  for (const std::string& slug : found.entirely) found.in_part.erase(slug);
  return found;
}

std::optional<Error> tell_if_nothing_was_judged(const Job& job, const findings::Outcome& outcome) {
  bool several = job.world_size > 1 || job.ranks().size() > 1;
  if (!several || !outcome.findings.empty()) return std::nullopt;
  const Coverage* reason = nullptr;  // the first
  for (const std::string& slug : outcome.only.empty() ? all_slugs() : outcome.only) {
    auto own = std::find_if(outcome.coverage.begin(), outcome.coverage.end(), [&](const Coverage& entry) {
      return entry.entirely &&
             std::find(entry.unjudged.begin(), entry.unjudged.end(), slug) != entry.unjudged.end();
    });
    if (own == outcome.coverage.end()) return std::nullopt;
    if (!reason) reason = &*own;
  }
  std::string asked;
  for (const std::string& slug : outcome.only) asked += (asked.empty() ? " of " : ", ") + slug;
  bool ranks_missing = static_cast<std::int64_t>(job.ranks().size()) < job.world_size;
  return Error{fmt::format("nothing{} could be judged: {} ({})", asked, reason->what, reason->why), "",
               std::string(ranks_missing ? "bring the traces of all ranks into one folder; " : "") +
                   "`ddpscope info` shows what each rank recorded"};
}

}  // namespace ddpscope::analysis
