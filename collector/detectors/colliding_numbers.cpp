// All names in which the same ranks collide in the same way follow from one wrong number of theirs.
#include "collector/detectors/colliding_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "collector/detectors/story.h"
#include "collector/patterns/numbered_names.h"

namespace ddpscope::detectors {
namespace {

using patterns::BlockNumbering;
using patterns::NumberedNames;
using patterns::NumberedUse;

constexpr std::size_t kMaxEvidence = 16;
constexpr std::size_t kMaxBlocksTold = 4;
constexpr std::size_t kMaxNumbersTold = 8;

struct Bug {
  BlockNumbering numbering;
  std::vector<const NumberedNames*> names;  // by first use

  // The ranks are the same in all of them.
  const std::vector<NumberedUse>& uses() const { return names.front()->uses; }
  bool written() const {
    return std::any_of(names.begin(), names.end(), [](const NumberedNames* own) { return own->written; });
  }
  bool read() const {
    return std::any_of(names.begin(), names.end(), [](const NumberedNames* own) { return !own->written; });
  }
};

using Uses = std::vector<const NumberedUse*>;

std::map<std::int32_t, Uses> by_number(const std::vector<NumberedUse>& uses) {
  std::map<std::int32_t, Uses> sorted;
  for (const NumberedUse& use : uses) sorted[use.number].push_back(&use);
  return sorted;
}

std::vector<std::int32_t> ranks_of(const Uses& uses) {
  std::vector<std::int32_t> ranks;
  for (const NumberedUse* use : uses) ranks.push_back(use->rank);
  return ranks;
}

bool same_ranks(const NumberedNames& a, const NumberedNames& b) {
  return std::equal(a.uses.begin(), a.uses.end(), b.uses.begin(), b.uses.end(),
                    [](const NumberedUse& one, const NumberedUse& other) { return one.rank == other.rank; });
}

std::vector<Bug> group(const std::vector<NumberedNames>& all) {
  std::vector<Bug> bugs;
  for (const NumberedNames& names : all) {
    BlockNumbering numbering = patterns::find_blocks(names.uses);
    if (!numbering.collides()) continue;
    auto bug = std::find_if(bugs.begin(), bugs.end(), [&](const Bug& known) {
      return known.numbering == numbering && same_ranks(*known.names.front(), names);
    });
    if (bug == bugs.end()) bug = bugs.insert(bugs.end(), Bug{numbering, {}});
    bug->names.push_back(&names);
  }
  return bugs;
}

// As the subject of a sentence.
std::string list_all(const Bug& bug) {
  std::set<std::vector<std::int32_t>> sets;
  for (const auto& [number, uses] : by_number(bug.uses()))
    if (uses.size() > 1) sets.insert(ranks_of(uses));
  return subject_of(sets);
}

// As many numbers as ranks, from the first one on; some of them nobody has.
std::string list_missing(const Bug& bug) {
  auto used = by_number(bug.uses());
  std::int32_t first = used.begin()->first, last = first + static_cast<std::int32_t>(bug.uses().size());
  std::vector<std::int32_t> missing;
  for (std::int32_t number = first; number < last; ++number)
    if (!used.count(number)) missing.push_back(number);
  if (missing.size() > kMaxNumbersTold) return fmt::format("{} to {}", missing.front(), missing.back());
  return list_numbers(missing);
}

// "ranks 0 to 3 have the numbers 0 to 3, ranks 4 to 7 2 to 5"
std::string list_blocks(const Bug& bug) {
  const std::vector<NumberedUse>& uses = bug.uses();
  std::string text;
  for (std::size_t i = 0; i < std::min(bug.numbering.blocks, kMaxBlocksTold); ++i) {
    const NumberedUse& first = uses[i * bug.numbering.block];
    const NumberedUse& last = uses[(i + 1) * bug.numbering.block - 1];
    text += fmt::format("{}ranks {} to {} {}{} to {}", i ? ", " : "", first.rank, last.rank,
                        i ? "" : "have the numbers ", first.number, last.number);
  }
  return text + (bug.numbering.blocks > kMaxBlocksTold ? ", and so on" : "");
}

void tell_uses(const Facts& facts, const Bug& bug, const NumberedNames& names, findings::Finding& finding) {
  std::size_t before = finding.evidence.size();
  for (const auto& [number, uses] : by_number(names.uses)) {
    if (uses.size() < 2 || finding.evidence.size() - before + uses.size() > kMaxEvidence) continue;
    for (const NumberedUse* use : uses) {
      std::vector<std::int32_t> others = ranks_of(uses);
      std::erase(others, use->rank);
      std::string detail = fmt::format("{} under the number {}, as {} {}", names.written ? "writes" : "reads",
                                       number, list_ranks(others), verb(others, "does", "do"));
      if (finding.evidence.empty()) detail += "; " + list_blocks(bug);
      finding.evidence.push_back(evidence_of(facts.job, use->open, std::move(detail)));
      finding.evidence.back().file = path_of(facts.job, *use);
    }
  }
}

// The first of what is written and the first of what is read stand for all.
void tell_names(const Facts& facts, const Bug& bug, findings::Finding& finding) {
  finding.first_ns = std::numeric_limits<std::int64_t>::max();
  std::set<std::int32_t> ranks;
  bool told[2] = {false, false};
  for (const NumberedNames* names : bug.names) {
    for (const auto& [number, uses] : by_number(names->uses)) {
      for (const NumberedUse* use : uses.size() > 1 ? uses : Uses{}) {
        ranks.insert(use->rank);
        finding.files.insert(std::string(path_of(facts.job, *use)));
        finding.first_ns = std::min(finding.first_ns, use->begin_ns);
        finding.last_ns = std::max(finding.last_ns, use->end_ns);
      }
    }
    if (!told[names->written]) tell_uses(facts, bug, *names, finding);
    told[names->written] = true;
  }
  finding.ranks.assign(ranks.begin(), ranks.end());
}

// What is written shows best what was meant.
model::EventRef place_of(const Bug& bug) {
  auto written = std::find_if(bug.names.begin(), bug.names.end(),
                              [](const NumberedNames* names) { return names->written; });
  return (written == bug.names.end() ? bug.names.front() : *written)->uses.front().open;
}

void tell(const Facts& facts, const Bug& bug, findings::Outcome& outcome) {
  findings::Finding finding;
  finding.slug = "rank-mismatch";
  finding.confidence = bug.written() ? findings::Confidence::kCertain : findings::Confidence::kLikely;
  finding.count = bug.names.size();
  tell_names(facts, bug, finding);
  const char* what = !bug.read() ? "write" : bug.written() ? "write and read" : "read";
  model::EventRef place = place_of(bug);
  finding.title = fmt::format(
      "{} {} files of the same number{}: from one block of {} ranks to the next the numbers rise by {}, and "
      "nobody has {}",
      list_all(bug), what, at(facts.places.of(place)), bug.numbering.block, bug.numbering.stride,
      list_missing(bug));
  finding.advice = fmt::format(
      "Number ranks by the block times its size and the place within it: here block * {} + place, not block "
      "* "
      "{} + place (dp_rank = replicate_rank * shard_size + shard_rank). Better, ask the group for the rank: "
      "get_rank(), or a flattened device mesh.",
      bug.numbering.block, bug.numbering.stride);
  finding.place = {finding.ranks, std::numeric_limits<std::int64_t>::min(),
                   std::numeric_limits<std::int64_t>::max(), true};
  finding.key = fmt::format("numbers {}", facts.places.whole(place));
  outcome.findings.push_back(std::move(finding));
}

}  // namespace

void tell_colliding_numbers(const Facts& facts, findings::Outcome& outcome) {
  std::vector<NumberedNames> all = patterns::find_numbered_names(facts.job, facts.written);
  for (const Bug& bug : group(all)) tell(facts, bug, outcome);
}

}  // namespace ddpscope::detectors
