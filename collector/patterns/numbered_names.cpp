// The first rank's names are candidates; what the others use is compared with those alone.
#include "collector/patterns/numbered_names.h"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "collector/files/places.h"
#include "collector/files/read_items.h"

namespace ddpscope::patterns {
namespace {

constexpr std::size_t kFewestRanks = 6;  // two blocks of three
constexpr std::size_t kFewestInBlock = 3;
constexpr std::size_t kMostDigits = 6;  // more are times, hashes, sizes

bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Opening {
  std::int32_t rank;
  model::EventRef event;
  std::int64_t end_ns;
  const files::WrittenFile* file;
};

class Search {
 public:
  Search(const model::Job& job, const std::vector<files::WrittenFile>& written)
      : job_(job), written_(written), places_(job), first_(job.ranks().front()) {}

  std::vector<NumberedNames> run() {
    see(true);
    drop_unfit();
    if (!candidates_.empty()) see(false);
    drop_unfit();
    std::vector<NumberedNames> found;
    for (auto& [name, candidate] : candidates_) {
      if (candidate.names.uses.size() < kFewestRanks) continue;
      auto lower = [](const NumberedUse& a, const NumberedUse& b) { return a.rank < b.rank; };
      std::sort(candidate.names.uses.begin(), candidate.names.uses.end(), lower);
      found.push_back(std::move(candidate.names));
    }
    std::stable_sort(found.begin(), found.end(), [](const NumberedNames& a, const NumberedNames& b) {
      return a.uses.front().begin_ns < b.uses.front().begin_ns;
    });
    return found;
  }

 private:
  struct Candidate {
    NumberedNames names;
    std::unordered_map<std::int32_t, std::size_t> of_rank{};  // into names.uses
    bool unfit = false;
  };

  // What the first rank opens, or what all others do.
  void see(bool first) {
    for (const files::WrittenFile& file : written_)
      if ((file.rank == first_) == first) see({file.rank, file.open, file.end_ns, &file}, file.place);
    for (std::uint32_t i = 0; i < job_.processes.size(); ++i)
      if (job_.processes[i].rank >= 0 && (job_.processes[i].rank == first_) == first) see_reads(i);
  }

  void see_reads(std::uint32_t number) {
    const model::Process& process = job_.processes[number];
    std::unordered_set<std::uint32_t> seen;  // paths
    model::for_each(process.file, {trace::Operation::kOpen},
                    [&](model::EventPlace place, const trace::Record& record) {
                      auto opening = trace::payload_of<trace::payload::FileOpen>(record);
                      bool reads = (opening.flags & (O_ACCMODE | O_DIRECTORY)) == O_RDONLY;
                      if (opening.error || !opening.file || !reads || !seen.insert(opening.path).second)
                        return;
                      std::string_view path = process.file.string(opening.path);
                      if (!files::is_data(path)) return;
                      see({process.rank, {number, place}, job_.end_ns(number, record), nullptr},
                          places_.of(number, path));
                    });
  }

  // Each number in the name below the storage makes it one of a family.
  void see(const Opening& opening, std::string_view place) {
    std::size_t end = place.find('!');
    for (std::size_t at = end + 1; at < place.size(); at = end) {
      for (; at < place.size() && !is_digit(place[at]); ++at) continue;
      for (end = at; end < place.size() && is_digit(place[end]); ++end) continue;
      if (end == at || end - at > kMostDigits) continue;
      std::int32_t number = 0;
      std::from_chars(place.data() + at, place.data() + end, number);
      name_.assign(opening.file ? "w" : "r").append(place.substr(0, at)).append("*");
      name_.append(place.substr(end));
      add(opening, number);
    }
  }

  void add(const Opening& opening, std::int32_t number) {
    auto known = candidates_.find(name_);
    if (known == candidates_.end()) {
      if (opening.rank != first_) return;
      known = candidates_.emplace(name_, Candidate{{opening.file != nullptr, {}}}).first;
    }
    Candidate& candidate = known->second;
    std::vector<NumberedUse>& uses = candidate.names.uses;
    if (auto own = candidate.of_rank.find(opening.rank); own != candidate.of_rank.end()) {
      if (uses[own->second].number != number) candidate.unfit = true;
      return;
    }
    // Most names that all ranks use are one file that all of them open.
    if (opening.rank != first_ && number <= uses.front().number) candidate.unfit = true;
    if (candidate.unfit) return;
    candidate.of_rank.emplace(opening.rank, uses.size());
    uses.push_back(
        {opening.rank, number, opening.event, job_.begin_ns(opening.event), opening.end_ns, opening.file});
  }

  void drop_unfit() {
    std::erase_if(candidates_, [](const auto& entry) {
      return entry.second.unfit || entry.second.names.uses.front().number > 1;
    });
  }

  const model::Job& job_;
  const std::vector<files::WrittenFile>& written_;
  files::Places places_;
  std::int32_t first_;
  std::map<std::string, Candidate> candidates_;  // by the name with its number left out
  std::string name_;
};

}  // namespace

std::string_view path_of(const model::Job& job, const NumberedUse& use) {
  return use.file ? std::string_view(use.file->path) : files::path_of(job, use.open);
}

std::vector<NumberedNames> find_numbered_names(const model::Job& job,
                                               const std::vector<files::WrittenFile>& written) {
  if (job.ranks().size() < kFewestRanks) return {};
  return Search(job, written).run();
}

BlockNumbering find_blocks(const std::vector<NumberedUse>& uses) {
  std::size_t block = 1;
  while (block < uses.size() && uses[block].number == uses[block - 1].number + 1) ++block;
  if (block < kFewestInBlock || uses.size() % block) return {0, 0, 0};
  BlockNumbering found{uses.size() / block, block, 0};
  if (found.blocks > 1) found.stride = uses[block].number - uses.front().number;
  for (std::size_t i = 1; i < uses.size(); ++i) {
    auto of_block = static_cast<std::int32_t>(i / block), in_block = static_cast<std::int32_t>(i % block);
    bool fits = uses[i].number == uses.front().number + of_block * found.stride + in_block;
    bool evenly = uses[i].rank - uses[i - 1].rank == uses[1].rank - uses[0].rank;
    if (!fits || !evenly) return {0, 0, 0};
  }
  return found;
}

}  // namespace ddpscope::patterns
