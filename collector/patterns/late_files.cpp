// Name by name: what should be seen, and is not.
#include "collector/patterns/late_files.h"

#include <fcntl.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "collector/files/aliases.h"
#include "collector/patterns/late_listings.h"
#include "collector/patterns/name_changes.h"

namespace ddpscope::patterns {
namespace {

using files::FileEvent;
using files::kNoEvent;
using files::Name;
using files::View;
using trace::Operation;

class LateFiles {
 public:
  explicit LateFiles(const NameChanges& changes) : changes_(changes) {}

  LateLooks find() {
    std::vector<LateLook> found;
    LateListings listings(changes_);
    for (const auto& [name, history] : changes_.histories()) {
      std::set<std::int32_t> told;
      auto judge = [&, name = name, &history = history](const auto& looks, auto rule) {
        for (auto [look, view] : looks) {
          if (told.contains(event(look).rank)) continue;
          auto late = (this->*rule)(name, history, look, view);
          if (!late) continue;
          told.insert(event(look).rank);
          found.push_back(*late);
        }
      };
      judge(history.looks, &LateFiles::judge_miss);
      judge(history.sights, &LateFiles::judge_size);
      judge(history.ends, &LateFiles::judge_size);
      judge(history.sights, &LateFiles::judge_version);
      listings.judge(name, history, told, found);
    }
    std::sort(found.begin(), found.end(),
              [](const LateLook& a, const LateLook& b) { return a.look < b.look; });
    return {std::move(found), listings.count_unjudged(), listings.count_unproven(), unknown_versions_};
  }

 private:
  const FileEvent& event(std::uint32_t index) const { return changes_.event(index); }
  bool before(std::uint32_t first, std::uint32_t second) const { return changes_.before(first, second); }

  std::optional<LateLook> judge_miss(Name name, const NameHistory& history, std::uint32_t look,
                                     const View& view) const {
    if (changes_.is_link(name)) return std::nullopt;
    for (auto maker = history.makers.rbegin(); maker != history.makers.rend(); ++maker) {
      auto [change, from] = *maker;
      if (!changes_.of_others({change, from}, {look, view}) || !before(change, look)) continue;
      if (changes_.may_undo(changes_.removals_of(name), change, look)) return std::nullopt;
      LateLook late{Late::kName, name, change, change, look, look};
      for (auto [sight, through] : history.sights)
        if (through == view && event(sight).begin_ns > event(look).begin_ns) {
          late.shown = sight;
          break;
        }
      for (auto [miss, through] : history.looks)
        if (through == view && (late.shown == kNoEvent || miss < late.shown))
          late.last = std::max(late.last, miss);
      for (auto [again, through] : history.makers)
        if (late.shown != kNoEvent && again < late.shown && !before(again, look)) late.made_again = true;
      return late;
    }
    return std::nullopt;
  }

  // The bytes that a look says there are; nothing of another file, or a link's own, or by a call that has not
  // returned.
  std::optional<std::uint64_t> seen_by(std::uint32_t look, std::uint64_t inode) const {
    const FileEvent& at = event(look);
    if (!changes_.record(look).end) return std::nullopt;
    if (at.operation == Operation::kRead)
      return event(changes_.opening_of(look)).inode == inode ? std::optional(at.from) : std::nullopt;
    if (at.operation != Operation::kStat || at.inode != inode) return std::nullopt;
    return trace::payload_of<trace::payload::FileName>(changes_.record(look)).size;
  }

  std::optional<LateLook> judge_size(Name name, const NameHistory& history, std::uint32_t look,
                                     const View& view) const {
    // What a reader knows of a file is as old as its opening.
    std::uint32_t asked = event(look).operation == Operation::kRead ? changes_.opening_of(look) : look;
    for (const Writing& writing : history.writings) {
      if (writing.closed == kNoEvent || !writing.known || !event(writing.opening).inode) continue;
      auto seen = seen_by(look, event(writing.opening).inode);
      if (!seen || *seen >= writing.end || !changes_.of_others({writing.opening, writing.view}, {look, view}))
        continue;
      if (!before(writing.closed, asked)) continue;
      if (changes_.may_undo(changes_.removals_of(name), writing.opening, look) ||
          changes_.may_undo(history.truncations, writing.opening, look))
        continue;
      LateLook late{Late::kSize, name, writing.opening, writing.closed, look, look};
      late.seen = *seen;
      late.written = writing.end;
      find_shown(history, view, event(writing.opening).inode, late);
      return late;
    }
    return std::nullopt;
  }

  void find_shown(const NameHistory& history, const View& view, std::uint64_t inode, LateLook& late) const {
    std::vector<std::uint32_t> later;
    for (const auto* kind : {&history.sights, &history.ends})
      for (auto [at, through] : *kind)
        if (through == view && at > late.look) later.push_back(at);
    std::sort(later.begin(), later.end());
    for (std::uint32_t at : later) {
      auto seen = seen_by(at, inode);
      if (!seen) continue;
      if (*seen >= late.written) {
        late.shown = at;
        return;
      }
      late.last = at;
    }
  }

  // What told, before the change and through another mount, that the name meant this file: it is an older
  // version, and its number is not made up. kNoEvent if nothing did. Inode 0: any file.
  std::uint32_t older_version(const NameHistory& history, std::uint32_t change, const View& view,
                              std::uint64_t inode) const {
    for (const auto* kind : {&history.makers, &history.sights})
      for (auto [at, from] : *kind)
        if (from != view && event(at).inode && (!inode || event(at).inode == inode) && before(at, change))
          return at;
    return kNoEvent;
  }

  std::optional<LateLook> judge_version(Name name, const NameHistory& history, std::uint32_t look,
                                        const View& view) {
    std::uint64_t seen = event(look).inode;
    if (changes_.is_link(name) || !seen) return std::nullopt;
    auto last = std::ranges::find_if(history.makers.rbegin(), history.makers.rend(), [&](const auto& maker) {
      return changes_.puts_file(maker.first) && before(maker.first, look);
    });
    if (last == history.makers.rend()) return std::nullopt;
    auto [change, from] = *last;
    std::uint64_t put = event(change).inode;
    if (put == seen || !changes_.of_others({change, from}, {look, view})) return std::nullopt;
    std::vector<std::uint32_t> undoing = changes_.removals_of(name);
    for (auto [maker, through] : history.makers)  // an opening of that file again changes nothing
      if (event(maker).operation != Operation::kOpen || event(maker).inode != put) undoing.push_back(maker);
    if (changes_.may_undo(undoing, change, look)) return std::nullopt;
    bool known = std::get<2>(files::inode_at(changes_.place(name), 0, seen));
    std::uint32_t older = older_version(history, change, view, known ? seen : 0);
    if (older == kNoEvent) return std::nullopt;
    if (!known) {
      ++unknown_versions_;
      return std::nullopt;
    }
    LateLook late{Late::kVersion, name, change, change, look, look};
    late.older = older;
    for (auto [sight, through] : history.sights) {
      if (through != view || sight <= look) continue;
      if (event(sight).inode == seen) late.last = sight;
      if (event(sight).inode != put) continue;
      late.shown = sight;
      break;
    }
    return late;
  }

  const NameChanges& changes_;
  std::size_t unknown_versions_ = 0;
};

}  // namespace

std::vector<ordering::ThreadId> late_looking_threads(const model::Job& job, const files::SharedNames& names) {
  return NameChanges(job, names).threads();
}

LateLooks find_late_looks(const model::Job& job, const files::SharedNames& names,
                          const ordering::HappensBefore& order) {
  NameChanges changes(job, names);
  changes.order_by(order);
  return LateFiles(changes).find();
}

}  // namespace ddpscope::patterns
