// duplicate-checkpoint-write: ranks write the same file (rule W1), or the same content under names that
// differ in numbers only (rule W2). What each rank writes for itself, shards and logs, is none.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "collector/detectors/detector.h"
#include "collector/detectors/story.h"
#include "collector/files/written_files.h"

namespace ddpscope::detectors {
namespace {

using files::WrittenFile;

constexpr std::uint64_t kLargerThanALog = 4096;         // W1: less is no checkpoint
constexpr std::uint64_t kEnoughToCompare = 256 * 1024;  // W2: digested bytes
constexpr std::uint64_t kAlikePercent = 95;             // W2: of them, in order

// Several ranks' writings of one thing.
struct Duplicate {
  std::vector<const WrittenFile*> writers;  // by begin
  bool same_path;
};

std::size_t count_ranks(const std::vector<const WrittenFile*>& files) {
  std::set<std::int32_t> ranks;
  for (const WrittenFile* file : files) ranks.insert(file->rank);
  return ranks.size();
}

bool overlap(const files::Extent& a, const files::Extent& b) {
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

// Ranks that fill different parts of one file share it as intended; so do those that append.
bool collide(const WrittenFile& a, const WrittenFile& b) {
  if (a.rank == b.rank || (a.append && b.append)) return false;
  if (a.truncate && b.truncate) return true;
  for (const files::Extent& mine : a.extents)
    for (const files::Extent& other : b.extents)
      if (overlap(mine, other)) return true;
  return a.extents.empty() || b.extents.empty();
}

std::vector<const WrittenFile*> colliding(const std::vector<const WrittenFile*>& same_path) {
  std::vector<const WrittenFile*> result;
  for (const WrittenFile* a : same_path)
    if (std::any_of(same_path.begin(), same_path.end(),
                    [&](const WrittenFile* b) { return collide(*a, *b); }))
      result.push_back(a);
  return result;
}

std::vector<Duplicate> same_paths(const std::vector<WrittenFile>& written) {
  std::map<std::pair<std::uint32_t, std::string_view>, std::vector<const WrittenFile*>> by_path;
  for (const WrittenFile& file : written)
    if (file.bytes >= kLargerThanALog) by_path[{file.host, file.path}].push_back(&file);
  std::vector<Duplicate> duplicates;
  for (auto& [path, writers] : by_path) {
    std::vector<const WrittenFile*> found = colliding(writers);
    if (count_ranks(found) > 1) duplicates.push_back({std::move(found), true});
  }
  return duplicates;
}

// Rank, time and process id in a name are numbers: what is left tells what the file is for.
std::string without_numbers(const std::string& path) {
  std::string plain;
  for (char c : path)
    if (c < '0' || c > '9')
      plain += c;
    else if (plain.empty() || plain.back() != '#')
      plain += '#';
  return plain;
}

std::uint64_t digested(const WrittenFile& file) {
  std::uint64_t bytes = 0;
  for (const files::Digest& digest : file.digests) bytes += digest.bytes;
  return bytes;
}

std::uint64_t alike_bytes(const WrittenFile& a, const WrittenFile& b) {
  std::uint64_t bytes = 0;
  std::size_t from = 0;
  for (const files::Digest& digest : a.digests) {
    auto same = [&](const files::Digest& other) {
      return other.hash == digest.hash && other.bytes == digest.bytes;
    };
    auto found = std::find_if(b.digests.begin() + static_cast<std::ptrdiff_t>(from), b.digests.end(), same);
    if (found == b.digests.end()) continue;
    bytes += digest.bytes;
    from = static_cast<std::size_t>(found - b.digests.begin()) + 1;
  }
  return bytes;
}

bool is_copy(const WrittenFile& a, const WrittenFile& b) {
  std::uint64_t larger = std::max(digested(a), digested(b));
  return a.path != b.path && alike_bytes(a, b) * 100 >= larger * kAlikePercent;
}

std::vector<Duplicate> same_contents(const std::vector<WrittenFile>& written) {
  std::map<std::tuple<std::uint32_t, std::string, std::uint64_t>, std::vector<const WrittenFile*>> alike;
  for (const WrittenFile& file : written)
    if (digested(file) >= kEnoughToCompare && !file.digests.empty())
      alike[{file.host, without_numbers(file.path), file.digests.back().hash}].push_back(&file);
  std::vector<Duplicate> duplicates;
  for (auto& [key, candidates] : alike) {
    std::vector<const WrittenFile*> copies;
    for (const WrittenFile* file : candidates)
      if (is_copy(*file, *candidates.front()) || file == candidates.front()) copies.push_back(file);
    if (count_ranks(copies) > 1) duplicates.push_back({std::move(copies), false});
  }
  return duplicates;
}

// Somebody finished before the other began, and between the two all ranks met.
bool ordered(const Facts& facts, const WrittenFile& a, const WrittenFile& b) {
  const auto& [first, second] = a.begin_ns <= b.begin_ns ? std::tie(a, b) : std::tie(b, a);
  const auto& rounds = facts.rounds.all();
  return std::any_of(rounds.begin(), rounds.end(),
                     [&, begin = second.begin_ns, end = first.end_ns](const patterns::Round& round) {
                       return round.start_ns >= end && round.end_ns <= begin;
                     });
}

bool is_race(const Facts& facts, const Duplicate& duplicate) {
  for (const WrittenFile* a : duplicate.writers)
    for (const WrittenFile* b : duplicate.writers)
      if (duplicate.same_path && collide(*a, *b) && !ordered(facts, *a, *b)) return true;
  return false;
}

findings::Evidence tell_writer(const Facts& facts, const WrittenFile& file) {
  findings::Evidence evidence = evidence_of(
      facts.job, file.open, fmt::format("writes {} bytes until {}", file.bytes, seconds(file.end_ns)));
  evidence.file = file.path;
  return evidence;
}

// The duplicates of one line of the program: the same bug, save after save.
struct Bug {
  std::vector<Duplicate> duplicates;
  std::set<std::int32_t> ranks;
};

void tell(const Facts& facts, const std::string& place, const Bug& bug, findings::Outcome& outcome) {
  const Duplicate& first = bug.duplicates.front();
  findings::Finding finding;
  finding.slug = "duplicate-checkpoint-write";
  bool race = std::any_of(bug.duplicates.begin(), bug.duplicates.end(),
                          [&](const Duplicate& duplicate) { return is_race(facts, duplicate); });
  finding.severity = race ? findings::Severity::kError : findings::Severity::kWarning;
  finding.ranks.assign(bug.ranks.begin(), bug.ranks.end());
  finding.count = bug.duplicates.size();
  std::uint64_t wasted = 0;
  finding.first_ns = first.writers.front()->begin_ns;
  for (const Duplicate& duplicate : bug.duplicates) {
    for (const WrittenFile* file : duplicate.writers) {
      wasted += file == duplicate.writers.front() ? 0 : file->bytes;
      finding.first_ns = std::min(finding.first_ns, file->begin_ns);
      finding.last_ns = std::max(finding.last_ns, file->end_ns);
    }
  }
  const char* what =
      first.same_path ? "all write the same file" : "each write the same content under another name";
  finding.title =
      fmt::format("{} {}{}: {} bytes too many", list_ranks(finding.ranks), what, at(place), wasted);
  finding.advice = first.same_path ? "Let one rank write: `if rank == 0: save(...)`, to a temporary name "
                                     "that is then renamed, and a barrier after it."
                                   : "Let one rank write the common state; only what differs from rank to "
                                     "rank needs a file of each rank.";
  std::set<std::int32_t> told;
  for (const WrittenFile* file : first.writers)
    if (told.insert(file->rank).second) finding.evidence.push_back(tell_writer(facts, *file));
  finding.place = facts.rounds.place(finding.ranks, finding.first_ns, finding.last_ns);
  finding.key = fmt::format("{} {}", first.same_path ? "path" : "content", place);
  outcome.findings.push_back(std::move(finding));
}

}  // namespace

void detect_duplicate_checkpoint_write(const Facts& facts, findings::Outcome& outcome) {
  const std::vector<WrittenFile> written = files::find_written_files(facts.job);
  std::vector<Duplicate> duplicates = same_paths(written);
  for (Duplicate& copies : same_contents(written)) duplicates.push_back(std::move(copies));
  std::map<std::pair<bool, std::string>, Bug> bugs;
  for (Duplicate& duplicate : duplicates) {
    const WrittenFile& file = *duplicate.writers.front();
    Bug& bug = bugs[{duplicate.same_path, program_place(facts.job, file.open)}];
    for (const WrittenFile* writer : duplicate.writers) bug.ranks.insert(writer->rank);
    bug.duplicates.push_back(std::move(duplicate));
  }
  for (auto& [place, bug] : bugs) tell(facts, place.second, bug, outcome);
}

}  // namespace ddpscope::detectors
