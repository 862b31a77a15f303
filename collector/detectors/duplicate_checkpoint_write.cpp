// duplicate-checkpoint-write: ranks write the same file (rule W1), or the same content under several names
// (rule W2). What each rank writes for itself, shards and logs, is none.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "collector/detectors/detector.h"
#include "collector/detectors/duplicate_writes.h"
#include "collector/detectors/story.h"
#include "collector/ordering/doubts.h"

namespace ddpscope::detectors {
namespace {

using files::WrittenFile;

constexpr std::size_t kMaxEvidence = 32;

std::set<std::int32_t> ranks_of(const Duplicate& duplicate) {
  std::set<std::int32_t> ranks;
  for (const WrittenFile* file : duplicate.writers) ranks.insert(file->rank);
  return ranks;
}

const WrittenFile& last_of(const Duplicate& duplicate) {
  return **std::max_element(duplicate.writers.begin(), duplicate.writers.end(),
                            [](auto* a, auto* b) { return a->end_ns < b->end_ns; });
}

// The duplicates of one line of the program, save after save, or of one save, line after line.
struct Bug {
  std::vector<Duplicate> duplicates;
  std::vector<std::string> places;

  bool same_save(const WriteOrders& orders, const Duplicate& duplicate) const {
    return std::any_of(duplicates.begin(), duplicates.end(), [&](const Duplicate& known) {
      return ranks_of(known) == ranks_of(duplicate) &&
             !orders.trained_between(last_of(known), *duplicate.writers.front());
    });
  }
  bool has_place(const std::string& place) const {
    return std::find(places.begin(), places.end(), place) != places.end();
  }
};

std::vector<Bug> group(const Facts& facts, const WriteOrders& orders, std::vector<Duplicate> duplicates) {
  std::stable_sort(duplicates.begin(), duplicates.end(), [](const Duplicate& a, const Duplicate& b) {
    return a.writers.front()->begin_ns < b.writers.front()->begin_ns;
  });
  std::vector<Bug> bugs;
  for (Duplicate& duplicate : duplicates) {
    std::string place = program_place(facts.job, duplicate.writers.front()->open);
    auto bug = std::find_if(bugs.begin(), bugs.end(), [&](const Bug& known) {
      return (!place.empty() && known.has_place(place)) || known.same_save(orders, duplicate);
    });
    if (bug == bugs.end()) bug = bugs.insert(bugs.end(), Bug{});
    if (!bug->has_place(place)) bug->places.push_back(place);
    bug->duplicates.push_back(std::move(duplicate));
  }
  return bugs;
}

// Of one content under several names. What one rank alone writes from a line of its own is no duplicate if
// from other lines all of them write it: rank 0 keeps the best model beside what each rank saves.
void leave_out_single_writers(const Facts& facts, Duplicate& duplicate) {
  std::map<std::string, std::set<std::int32_t>> ranks_at;
  auto place_of = [&](const WrittenFile* file) { return program_place(facts.job, file->open); };
  for (const WrittenFile* file : duplicate.writers) ranks_at[place_of(file)].insert(file->rank);
  Duplicate common = duplicate;
  std::erase_if(common.writers, [&](const WrittenFile* file) {
    std::string place = place_of(file);
    return !place.empty() && ranks_at[place].size() == 1;
  });
  if (ranks_of(common) == ranks_of(duplicate)) duplicate = std::move(common);
}

// Bytes beyond those of one writer.
std::uint64_t wasted_bytes(const Bug& bug) {
  std::uint64_t wasted = 0;
  for (const Duplicate& duplicate : bug.duplicates)
    for (const WrittenFile* file : duplicate.writers)
      if (file != duplicate.writers.front()) wasted += file->bytes;
  return wasted;
}

std::size_t count_steps(const Facts& facts) {
  std::size_t steps = 0;
  patterns::for_each_rank_steps(facts.job, facts.collectives, [&](const patterns::RankSteps& rank) {
    steps = std::max(steps, rank.steps.size());
  });
  return steps;
}

std::vector<findings::Evidence> tell_writers(const Facts& facts, const Duplicate& duplicate) {
  std::vector<findings::Evidence> evidence;
  std::set<std::int32_t> told;
  for (const WrittenFile* file : duplicate.writers) {
    if (evidence.size() >= kMaxEvidence || !told.insert(file->rank).second) continue;
    std::string does = fmt::format("writes {} bytes until {}", file->bytes, seconds(file->end_ns));
    if (file->synced_ns > file->end_ns) does += fmt::format(", synced at {}", seconds(file->synced_ns));
    findings::Evidence entry = evidence_of(facts.job, file->open, std::move(does));
    entry.file = file->path;
    evidence.push_back(std::move(entry));
  }
  return evidence;
}

// The first two writers that nothing orders.
findings::Order tell_order(const Facts& facts, const Duplicate& duplicate) {
  const WrittenFile& first = *duplicate.writers.front();
  auto other = std::find_if(duplicate.writers.begin(), duplicate.writers.end(),
                            [&](const WrittenFile* file) { return file->rank != first.rank; });
  const WrittenFile& second = **other;
  std::string opening =
      fmt::format("rank {}'s opening of {} at {}", second.rank, second.path, seconds(second.begin_ns));
  if (second.begin_ns < first.end_ns)
    return {fmt::format("rank {}'s opening of {} at {}, which it writes until {},", first.rank, first.path,
                        seconds(first.begin_ns), seconds(first.end_ns)),
            opening,
            {{"an end of the first writing before the second begins", "none: both write at the same time"}}};
  return {fmt::format("rank {}'s last write to {} at {}", first.rank, first.path, seconds(first.end_ns)),
          opening, looked_for(facts.order, WriteOrders::writing(first), WriteOrders::opening(second))};
}

std::string describe(const Duplicate& duplicate, WriteOrder worst) {
  if (!duplicate.same_file) return "each write the same content under another name";
  if (worst == WriteOrder::kReplaced) return "all write the same content and rename it to one name";
  return worst == WriteOrder::kOrdered ? "write the same file one after the other"
                                       : "all write the same file";
}

// Ranks that collide with each other, those of the worst first: colliding numbers make several such sets. One
// that lies in another says nothing more.
std::vector<std::set<std::int32_t>> colliding_sets(const Bug& bug, const Duplicate& worst) {
  std::vector<std::set<std::int32_t>> sets = {ranks_of(worst)};
  auto lies_in = [](const std::set<std::int32_t>& one, const std::set<std::int32_t>& other) {
    return std::includes(other.begin(), other.end(), one.begin(), one.end());
  };
  for (const Duplicate& duplicate : bug.duplicates) {
    std::set<std::int32_t> own = ranks_of(duplicate);
    if (std::any_of(sets.begin(), sets.end(), [&](const auto& known) { return lies_in(own, known); }))
      continue;
    std::erase_if(sets, [&](const auto& known) { return lies_in(known, own); });
    sets.push_back(std::move(own));
  }
  return sets;
}

// "ranks 0 and 2 all write the same file, as do ranks 1 and 3"
std::string describe_sets(const Bug& bug, const Duplicate& worst) {
  constexpr std::size_t kMostTold = 4;
  std::string text;
  std::size_t told = 0;
  auto sets = colliding_sets(bug, worst);
  for (const auto& ranks : sets) {
    std::string listed = list_ranks({ranks.begin(), ranks.end()});
    if (told == 0)
      text = fmt::format("{} {}", listed, describe(worst, worst.order));
    else if (told < kMostTold)
      text += (told == 1 ? ", as do " : ", and ") + listed;
    ++told;
  }
  if (sets.size() > kMostTold) text += fmt::format(", and {} more such sets", sets.size() - kMostTold);
  return text;
}

// One of each of several hosts.
bool are_once_a_host(const Duplicate& duplicate) {
  std::map<std::uint32_t, std::set<std::int32_t>> of_host;
  for (const WrittenFile* file : duplicate.writers) of_host[file->host].insert(file->rank);
  return of_host.size() > 1 &&
         std::all_of(of_host.begin(), of_host.end(), [](const auto& own) { return own.second.size() == 1; });
}

std::string advise(const Duplicate& duplicate) {
  if (!duplicate.same_file)
    return "Let one rank write the common state; only what differs from rank to rank needs a file of each "
           "rank.";
  if (are_once_a_host(duplicate))
    return "One rank of each host writes, but the hosts share this storage: let RANK 0 alone write, not each "
           "LOCAL_RANK 0, and a barrier after it; or let each host write to a disk of its own.";
  return "Let one rank write: `if rank == 0: save(...)`, to a temporary name that is then renamed, and "
         "a barrier after it.";
}

void tell(const Facts& facts, const Bug& bug, findings::Outcome& outcome) {
  const Duplicate* worst = &bug.duplicates.front();
  findings::Finding finding;
  std::set<std::int32_t> ranks;
  finding.first_ns = worst->writers.front()->begin_ns;
  for (const Duplicate& duplicate : bug.duplicates) {
    if (duplicate.order > worst->order) worst = &duplicate;
    ranks.merge(ranks_of(duplicate));
    for (const WrittenFile* file : duplicate.writers) finding.files.insert(file->path);
    finding.last_ns = std::max(finding.last_ns, last_of(duplicate).end_ns);
  }
  bool race = worst->order == WriteOrder::kUnordered;
  bool settings = std::all_of(bug.duplicates.begin(), bug.duplicates.end(),
                              [](const Duplicate& duplicate) { return duplicate.settings; });
  std::size_t steps = count_steps(facts);
  std::uint64_t wasted = wasted_bytes(bug);
  finding.slug = "duplicate-checkpoint-write";
  finding.severity = settings ? findings::Severity::kInfo
                     : race   ? findings::Severity::kError
                              : findings::Severity::kWarning;
  finding.confidence = findings::Confidence::kCertain;
  finding.ranks.assign(ranks.begin(), ranks.end());
  finding.count = bug.duplicates.size();
  finding.cost.bytes_per_step = steps ? wasted / steps : 0;
  finding.title =
      fmt::format("{}{}: {}", describe_sets(bug, *worst), at(facts.places.of(worst->writers.front()->open)),
                  settings ? "a small text, and each the same, before they train"
                           : fmt::format("{} bytes too many", wasted));
  finding.advice = advise(*worst);
  finding.evidence = tell_writers(facts, *worst);
  if (race) finding.order.push_back(tell_order(facts, *worst));
  finding.place = facts.rounds.place(finding.ranks, finding.first_ns, finding.last_ns);
  finding.place.its_files_only = true;
  finding.key =
      fmt::format("{} {}", worst->same_file ? "file" : "content", findings::key_of_frame(bug.places.front()));
  outcome.findings.push_back(std::move(finding));
}

// One entry for all files and saves, unless their writes are more of a bug that was found.
void add_doubts(const Facts& facts, const std::vector<Bug>& bugs, const std::vector<Duplicate>& doubtful,
                findings::Outcome& outcome) {
  const Duplicate* first = nullptr;
  std::set<std::string_view> paths;
  std::set<std::int32_t> ranks;
  for (const Duplicate& duplicate : doubtful) {
    std::string place = program_place(facts.job, duplicate.writers.front()->open);
    auto is_more_of = [&](const Bug& bug) {
      std::set<std::int32_t> found;
      for (const Duplicate& known : bug.duplicates) found.merge(ranks_of(known));
      return !place.empty() && bug.has_place(place) && std::ranges::includes(found, ranks_of(duplicate));
    };
    if (std::any_of(bugs.begin(), bugs.end(), is_more_of)) continue;
    if (!first) first = &duplicate;
    paths.insert(duplicate.writers.front()->path);
    ranks.merge(ranks_of(duplicate));
  }
  if (!first) return;
  auto doubt = [&]() -> std::string {
    for (std::size_t i = 1; i < first->writers.size(); ++i) {
      const WrittenFile &a = *first->writers[i - 1], &b = *first->writers[i];
      ordering::Span writing = WriteOrders::writing(a), opening = WriteOrders::opening(b);
      if (a.rank == b.rank || facts.order.between(writing, opening) != ordering::Verdict::kUnjudged) continue;
      return "what could order the writes was not recorded: " +
             ordering::doubt_between(facts.job, facts.order, writing, opening);
    }
    return "only a mutex that one thread happened to take after the other orders the writes";
  };
  outcome.coverage.push_back(
      {fmt::format("whether {} can overwrite each other's {}{}", list_ranks({ranks.begin(), ranks.end()}),
                   first->writers.front()->path,
                   paths.size() > 1 ? fmt::format(" and {} more files", paths.size() - 1) : ""),
       doubt(),
       {"duplicate-checkpoint-write"}});
}

}  // namespace

void detect_duplicate_checkpoint_write(const Facts& facts, findings::Outcome& outcome) {
  WriteOrders orders(facts);
  std::vector<Duplicate> duplicates = find_duplicate_writes(orders, facts.written);
  auto doubtful = std::ranges::stable_partition(
      duplicates, [](const Duplicate& duplicate) { return !duplicate.doubtful; });
  std::vector<Duplicate> perhaps(doubtful.begin(), doubtful.end());
  duplicates.erase(doubtful.begin(), doubtful.end());
  for (Duplicate& duplicate : duplicates)
    if (!duplicate.same_file) leave_out_single_writers(facts, duplicate);
  std::vector<Bug> bugs = group(facts, orders, std::move(duplicates));
  for (const Bug& bug : bugs) tell(facts, bug, outcome);
  add_doubts(facts, bugs, perhaps, outcome);
}

}  // namespace ddpscope::detectors
