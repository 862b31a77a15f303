// Sorts paths into those of which parts are read and those that are read as a whole, and judges either.
#include "collector/patterns/samples.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "collector/model/numbering.h"
#include "collector/patterns/longest_rise.h"
#include "collector/patterns/natural_names.h"

namespace ddpscope::patterns {
namespace {

using files::Item;
using files::ItemStream;

constexpr std::size_t kScanPercent = 90;       // in order: a shuffle leaves at most half of a long row so
constexpr std::size_t kIndexItems = 16;        // in order of their places: no shuffle begins so
constexpr std::size_t kHeaderItems = 4;        // a file's header, index and data are no three samples
constexpr std::size_t kHeldPercent = 2;        // of files, by chance: threads that read while others reduce
constexpr std::size_t kLeastAtOnce = 2;        // files from turn to turn: one may hold a batch for every rank
constexpr std::size_t kSameCountPercent = 67;  // of stretches: shards do not come out even with batches

// Offsets of a path in the order in which they were first read; of a visit with few of them, the last.
using Picks = std::vector<std::uint64_t>;

// Offsets begin anew somewhere where reading was resumed: from the smallest on they rise, if they do.
std::size_t rise_of(Picks picks) {
  std::rotate(picks.begin(), std::min_element(picks.begin(), picks.end()), picks.end());
  return longest_rise(picks);
}

class Sorter {
 public:
  explicit Sorter(const ItemStream& stream) : stream_(stream) {
    model::Numbering<std::uint64_t> met(stream.items.size());
    Picks visit;
    std::uint32_t path = 0;
    for (const Item& item : stream.items) {
      if (!met.add_new(item.key)) continue;
      if (item.path != path) add_visit(path, visit);
      path = item.path;
      visit.push_back(item.offset);
    }
    add_visit(path, visit);
  }

  bool is_whole(std::uint32_t path) const { return picks_.at(path).size() < 2; }

  // Of the parts of files, taken together.
  bool parts_are_scanned() const {
    std::size_t all = 0, rising = 0;
    for (const auto& [path, picks] : picks_) {
      if (picks.size() < 2) continue;
      all += picks.size();
      rising += rise_of(picks);
    }
    return rising * 100 >= all * kScanPercent;
  }

  bool wholes_are_samples(const std::vector<std::int64_t>& turns) const {
    return few_held(turns) && several_at_once(turns) && !in_order_of_names();
  }

 private:
  void add_visit(std::uint32_t path, Picks& visit) {
    if (visit.empty()) return;
    Picks& picks = picks_[path];
    picks.insert(picks.end(), visit.size() > kHeaderItems ? visit.begin() : visit.end() - 1, visit.end());
    visit.clear();
  }
  template <class Do>
  void for_each_whole(Do act) const {  // once each
    std::unordered_set<std::uint32_t> met;
    for (const Item& item : stream_.items)
      if (is_whole(item.path) && met.insert(item.path).second) act(item);
  }

  bool few_held(const std::vector<std::int64_t>& turns) const {
    std::size_t all = 0, held = 0;
    for (const Item& item : stream_.items) {
      if (!item.exact || !is_whole(item.path)) continue;
      ++all;
      auto next = std::upper_bound(turns.begin(), turns.end(), item.at_ns);
      held += next != turns.end() && *next < item.until_ns;
    }
    return held * 100 <= all * kHeldPercent;
  }

  // As many in most stretches between turns in which there is any: batches are of one size.
  bool several_at_once(const std::vector<std::int64_t>& turns) const {
    std::map<std::ptrdiff_t, std::unordered_set<std::uint32_t>> files;  // by stretch
    for (const Item& item : stream_.items) {
      auto stretch = std::upper_bound(turns.begin(), turns.end(), item.at_ns) - turns.begin();
      if (item.exact && is_whole(item.path) && stretch > 0) files[stretch].insert(item.path);
    }
    std::map<std::size_t, std::size_t> counts;
    for (const auto& [stretch, paths] : files) ++counts[paths.size()];
    auto usual = std::max_element(counts.begin(), counts.end(),
                                  [](const auto& a, const auto& b) { return a.second < b.second; });
    return usual != counts.end() && usual->first >= kLeastAtOnce &&
           usual->second * 100 >= files.size() * kSameCountPercent;
  }

  // As text, or with the numbers in them as such.
  bool in_order_of_names() const {
    std::vector<std::string> plain, natural;
    for_each_whole([&](const Item& item) {
      auto name = stream_.names.find(item.path);
      if (name == stream_.names.end()) return;
      plain.emplace_back(name->second);
      natural.push_back(natural_key(name->second));
    });
    std::size_t rising = std::max(longest_rise(plain), longest_rise(natural));
    return rising * 100 >= plain.size() * kScanPercent;
  }

  const ItemStream& stream_;
  std::unordered_map<std::uint32_t, Picks> picks_;  // by path
};

// What a process reads of a file in the order of the places until it first goes back: the heads of all
// records, for an index, or a check of the file. Of what is read so to its end all goes.
void drop_indices(ItemStream& stream) {
  struct Row {
    std::size_t items = 0;
    std::uint64_t last = 0;
    bool ended = false;
  };
  std::unordered_map<std::uint32_t, Row> rows;  // by path
  for (const Item& item : stream.items) {
    Row& row = rows[item.path];
    row.ended = row.ended || item.offset < row.last;
    row.items += !row.ended;
    row.last = item.offset;
  }
  bool any = false;
  for (auto& [path, row] : rows) {
    if (row.items < kIndexItems) row.items = 0;
    any = any || row.items > 0;
  }
  if (!any) return;
  std::erase_if(stream.items, [&](const Item& item) {
    std::size_t& left = rows[item.path].items;
    return left > 0 && left--;
  });
}

}  // namespace

void keep_samples(ItemStream& stream, const std::vector<std::int64_t>& turns) {
  drop_indices(stream);
  if (stream.items.empty()) return;
  Sorter sorter(stream);
  bool parts = !sorter.parts_are_scanned(), wholes = sorter.wholes_are_samples(turns);
  std::erase_if(stream.items,
                [&](const Item& item) { return sorter.is_whole(item.path) ? !wholes : !parts; });
}

}  // namespace ddpscope::patterns
