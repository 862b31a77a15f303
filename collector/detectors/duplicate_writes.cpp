// Groups written files by name, by inode and by content, and each group by save.
#include "collector/detectors/duplicate_writes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/files/aliases.h"

namespace ddpscope::detectors {
namespace {

using files::Digest;
using files::WrittenFile;
using Files = std::vector<const WrittenFile*>;  // by begin

constexpr std::uint64_t kLargerThanALog = 4096;         // W1
constexpr std::uint64_t kEnoughToCompare = 256 * 1024;  // W2: digested bytes
constexpr std::uint64_t kAlikePercent = 95;             // W2: of them, in order
constexpr std::size_t kNeighbours = 32;  // writers of one file are compared with so many that follow

std::size_t count_ranks(const Files& files) {
  std::set<std::int32_t> ranks;
  for (const WrittenFile* file : files) ranks.insert(file->rank);
  return ranks.size();
}

// Files that follow each other without training in between.
std::vector<Files> split_by_save(const WriteOrders& orders, const Files& files) {
  std::vector<Files> saves;
  const WrittenFile* last = nullptr;  // to end
  for (const WrittenFile* file : files) {
    if (!last || orders.trained_between(*last, *file)) saves.emplace_back();
    saves.back().push_back(file);
    if (!last || file->end_ns > last->end_ns) last = file;
  }
  return saves;
}

std::uint64_t digested(const WrittenFile& file) {
  std::uint64_t bytes = 0;
  for (const Digest& digest : file.digests) bytes += digest.bytes;
  return bytes;
}

std::uint64_t alike_bytes(const WrittenFile& a, const WrittenFile& b) {
  std::uint64_t bytes = 0;
  auto from = b.digests.begin();
  for (const Digest& digest : a.digests) {
    auto found = std::find(from, b.digests.end(), digest);
    if (found == b.digests.end()) continue;
    bytes += digest.bytes;
    from = found + 1;
  }
  return bytes;
}

bool is_copy(const WrittenFile& a, const WrittenFile& b) {
  return alike_bytes(a, b) * 100 >= std::max(digested(a), digested(b)) * kAlikePercent;
}

bool overlap(const WrittenFile& a, const WrittenFile& b) {
  for (const files::Extent& mine : a.extents)
    for (const files::Extent& other : b.extents)
      if (mine.offset < other.offset + other.bytes && other.offset < mine.offset + mine.bytes) return true;
  return a.extents.empty() || b.extents.empty();
}

// The two took turns, on purpose: a database, or a record that is read, changed and written under a lock.
bool share_a_lock(const WrittenFile& a, const WrittenFile& b) {
  auto made_by_both = [&](std::string_view name) { return b.lock_names.contains(name); };
  if (std::any_of(a.lock_names.begin(), a.lock_names.end(), made_by_both)) return true;
  return a.host == b.host && std::any_of(a.locks.begin(), a.locks.end(),
                                         [&](const files::FileId& lock) { return b.locks.contains(lock); });
}

// Ranks that fill different parts of one file share it as intended; so do those that append, and those that
// were given one descriptor. Of two that made one name exclusively (a lock) the first was removed before the
// second was made.
bool collide(const WrittenFile& a, const WrittenFile& b) {
  if (a.rank == b.rank || (a.append && b.append) || (a.inherited && b.inherited)) return false;
  if (a.host == b.host && a.device != b.device) return false;  // containers: one path, two file systems
  if (a.exclusive && b.exclusive && a.opened_as == b.opened_as) return false;
  if (share_a_lock(a, b)) return false;
  return (a.truncate && b.truncate) || overlap(a, b);
}

// Each wrote a file of its own, under a name of its own, and renamed it: a reader finds the one or the other.
bool replace_each_other(const WrittenFile& a, const WrittenFile& b) {
  return a.place == b.place && a.opened_as != b.opened_as && a.opened_as != a.path && b.opened_as != b.path;
}

constexpr std::uint64_t kMostSettings = 16 * 1024;

bool is_text(std::string_view path) {
  constexpr std::string_view kSuffixes[] = {".json", ".yaml", ".yml", ".toml", ".ini",
                                            ".cfg",  ".conf", ".txt", ".xml"};
  return std::any_of(std::begin(kSuffixes), std::end(kSuffixes),
                     [&](std::string_view suffix) { return path.ends_with(suffix); });
}

// Whoever reads them finds the same, whichever rank wrote last.
bool are_settings(const WriteOrders& orders, const Files& files) {
  const WrittenFile& first = *files.front();
  return std::all_of(files.begin(), files.end(), [&](const WrittenFile* file) {
    bool alike = file->bytes == first.bytes && (digested(first) == 0 || is_copy(first, *file));
    return alike && file->truncate && file->bytes <= kMostSettings && is_text(file->path) &&
           orders.before_training(*file);
  });
}

// Of one save and one file. Where two race for it, others that truncate it too do the same: that something
// ordered them this time is luck.
class Collisions {
 public:
  Collisions(const WriteOrders& orders, const Files& files) : orders_(orders) {
    for (std::size_t i = 0; i < files.size(); ++i)
      for (std::size_t j = i + 1; j < std::min(files.size(), i + 1 + kNeighbours); ++j)
        compare(files[i], files[j]);
    for (bool more = true; more;) {
      more = false;
      for (const auto& [a, b] : lucky_)
        if (writers_.contains(a) != writers_.contains(b)) {
          writers_.insert({a, b});
          more = true;
        }
    }
  }

  void report(std::vector<Duplicate>& duplicates) const {
    std::set<const WrittenFile*> doubtful;
    std::ranges::set_difference(doubtful_, writers_, std::inserter(doubtful, doubtful.end()));
    if (Files files = by_begin(doubtful); count_ranks(files) > 1)
      duplicates.push_back({std::move(files), true, WriteOrder::kMaybe, false, true});
    if (writers_.empty()) return;
    Files files = by_begin(writers_);
    bool settings = are_settings(orders_, files);
    duplicates.push_back({std::move(files), true, worst_, settings});
  }

 private:
  static Files by_begin(const std::set<const WrittenFile*>& all) {
    Files files(all.begin(), all.end());
    std::sort(files.begin(), files.end(), [](auto* a, auto* b) {
      return std::tie(a->begin_ns, a->rank) < std::tie(b->begin_ns, b->rank);
    });
    return files;
  }

  void compare(const WrittenFile* a, const WrittenFile* b) {
    if (!collide(*a, *b)) return;
    WriteOrder order = orders_.between(*a, *b);
    bool small = a->bytes < kLargerThanALog && b->bytes < kLargerThanALog;
    bool replaced = replace_each_other(*a, *b);
    bool truncation_race = a->truncate && b->truncate && order == WriteOrder::kUnordered && !replaced;
    bool known = !a->digests.empty() && !b->digests.empty();
    bool same_content = a->digests.empty() && b->digests.empty() ? a->bytes == b->bytes : is_copy(*a, *b);
    if (replaced && known && same_content && order == WriteOrder::kUnordered) order = WriteOrder::kReplaced;
    if ((small && !truncation_race) || (order != WriteOrder::kUnordered && !same_content)) {
      if (a->truncate && b->truncate && !replaced) lucky_.emplace_back(a, b);
      bool may_race = a->truncate && b->truncate && order == WriteOrder::kMaybe;
      if (may_race && !small) doubtful_.insert({a, b});
      return;
    }
    worst_ = std::max(worst_, order);
    writers_.insert({a, b});
  }

  const WriteOrders& orders_;
  std::set<const WrittenFile*> writers_;
  std::vector<std::pair<const WrittenFile*, const WrittenFile*>> lucky_;
  std::set<const WrittenFile*> doubtful_;
  WriteOrder worst_ = WriteOrder::kOrdered;
};

// Whatever the names: two openings of one inode that overlap in time are of one content.
void find_in_one_inode(const WriteOrders& orders, const std::vector<WrittenFile>& written,
                       std::vector<Duplicate>& duplicates) {
  std::map<files::Inode, Files> by_inode;
  for (const WrittenFile& file : written)
    if (file.inode) by_inode[files::inode_at(file.place, file.device, file.inode)].push_back(&file);
  auto opened_earlier = [](auto* a, auto* b) { return a->open_ns < b->open_ns; };
  for (auto& [inode, files] : by_inode) {
    std::stable_sort(files.begin(), files.end(), opened_earlier);
    Files group;
    const WrittenFile* longest = nullptr;  // held of the group
    auto report = [&] {
      bool several = std::any_of(group.begin(), group.end(),
                                 [&](auto* file) { return file->place != group.front()->place; });
      if (several && count_ranks(group) > 1) Collisions(orders, group).report(duplicates);
      group.clear();
    };
    for (const WrittenFile* file : files) {
      if (!group.empty() && !orders.held_together(*longest, *file)) report();
      if (group.empty() || file->last_write_ns > longest->last_write_ns) longest = file;
      group.push_back(file);
    }
    report();
  }
}

void find_same_files(const WriteOrders& orders, const std::vector<WrittenFile>& written,
                     std::vector<Duplicate>& duplicates) {
  std::map<std::string_view, Files> by_place;
  for (const WrittenFile& file : written) by_place[file.place].push_back(&file);
  for (const auto& [place, files] : by_place) {
    if (count_ranks(files) < 2) continue;
    for (const Files& save : split_by_save(orders, files)) Collisions(orders, save).report(duplicates);
  }
  find_in_one_inode(orders, written, duplicates);
}

std::uint64_t key_of(const Digest& digest) { return digest.hash ^ digest.bytes * 0x9E3779B97F4A7C15u; }

// Each file joins the first group whose first file it is a copy of.
std::vector<Files> group_by_content(const std::vector<WrittenFile>& written) {
  std::vector<Files> groups;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> with_digest;
  for (const WrittenFile& file : written) {
    if (digested(file) < kEnoughToCompare) continue;
    std::set<std::size_t> candidates;
    for (const Digest& digest : file.digests)
      if (auto found = with_digest.find(key_of(digest)); found != with_digest.end())
        candidates.insert(found->second.begin(), found->second.end());
    auto joined = std::find_if(candidates.begin(), candidates.end(),
                               [&](std::size_t group) { return is_copy(*groups[group].front(), file); });
    if (joined != candidates.end()) {
      groups[*joined].push_back(&file);
      continue;
    }
    for (const Digest& digest : file.digests) with_digest[key_of(digest)].push_back(groups.size());
    groups.push_back({&file});
  }
  return groups;
}

// Disks of two hosts each need their own copy. Storage is what stands in a place before the '!'.
std::map<std::string_view, Files> group_by_storage(const Files& files) {
  std::map<std::string_view, Files> groups;
  for (const WrittenFile* file : files)
    groups[std::string_view(file->place).substr(0, file->place.find('!'))].push_back(file);
  return groups;
}

void find_same_contents(const WriteOrders& orders, const std::vector<WrittenFile>& written,
                        std::vector<Duplicate>& duplicates) {
  for (const Files& copies : group_by_content(written))
    for (const auto& [storage, files] : group_by_storage(copies))
      for (const Files& save : split_by_save(orders, files)) {
        std::set<std::string_view> places;
        for (const WrittenFile* file : save) places.insert(file->place);
        if (count_ranks(save) > 1 && places.size() > 1)
          duplicates.push_back({save, false, WriteOrder::kOrdered});
      }
}

}  // namespace

std::vector<Duplicate> find_duplicate_writes(const WriteOrders& orders,
                                             const std::vector<WrittenFile>& written) {
  std::vector<Duplicate> duplicates;
  find_same_files(orders, written, duplicates);
  find_same_contents(orders, written, duplicates);
  return duplicates;
}

}  // namespace ddpscope::detectors
