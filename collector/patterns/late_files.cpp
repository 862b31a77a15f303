// Name by name: who changes it, who takes it away, who looks through which mount.
#include "collector/patterns/late_files.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "collector/files/aliases.h"
#include "collector/files/event_views.h"
#include "collector/files/record_kinds.h"
#include "collector/ordering/file_edges.h"

namespace ddpscope::patterns {
namespace {

using files::FileEvent;
using files::kNoEvent;
using files::kNoName;
using files::Name;
using files::View;
using ordering::span_of;
using trace::Operation;

bool names_path(const FileEvent& event) {
  return event.operation == Operation::kOpen ||
         (event.operation >= Operation::kRename && event.operation <= Operation::kReadDirectory);
}

bool opens_to_write(const FileEvent& event) {
  return event.operation == Operation::kOpen && !event.error && event.opening &&
         (event.flags & O_ACCMODE) != O_RDONLY;
}

// An opening by which a file was written.
struct Writing {
  std::uint32_t opening;
  View view;
  std::uint32_t closed = kNoEvent;
  std::uint64_t end = 0;  // of the bytes that were written
  bool known = true;      // which bytes
};

struct History {
  std::set<View> views;
  std::vector<std::pair<std::uint32_t, View>> makers;  // by begin, as all
  std::vector<std::uint32_t> truncations;              // by name or opening, and by O_TRUNC
  std::vector<Writing> writings;
  std::vector<std::pair<std::uint32_t, View>> looks;     // that fail
  std::vector<std::pair<std::uint32_t, View>> sights;    // that find the name
  std::vector<std::pair<std::uint32_t, View>> listings;  // of a folder
  std::vector<std::pair<std::uint32_t, View>>
      ends;  // reads that find the file's end; views: of their openings
};

class LateFiles {
 public:
  LateFiles(const model::Job& job, const files::SharedNames& names) : job_(job), names_(names), views_(job) {
    for (Name name = 0; name < names.places.size(); ++name) by_place_.emplace(names.places[name], name);
    if (!several_views()) return;
    for (std::uint32_t i = 0; i < names.events.size(); ++i) note(i);
  }

  std::vector<ordering::ThreadId> threads() const {
    std::set<ordering::ThreadId> threads;
    auto add = [&](std::uint32_t index) { threads.insert(span_of(event(index)).thread); };
    for (const auto& [name, history] : histories_) {
      for (auto [listing, view] : history.listings) add(listing);
      for (auto [maker, view] : history.makers) add(maker);
      bool replaced = std::ranges::any_of(history.makers, [&](auto maker) { return puts_file(maker.first); });
      if (history.looks.empty() && history.writings.empty() && !replaced) continue;
      for (auto [look, view] : history.looks) add(look);
      for (std::uint32_t removal : removals_of(name)) add(removal);
      if (history.writings.empty() && !replaced) continue;
      for (const Writing& writing : history.writings) add(writing.opening);
      for (auto [sight, view] : history.sights) add(sight);
      for (auto [end, view] : history.ends) add(end);
      for (std::uint32_t truncation : history.truncations) add(truncation);
    }
    return {threads.begin(), threads.end()};
  }

  LateLooks find(const ordering::HappensBefore& order) {
    order_ = &order;
    std::vector<LateLook> found;
    std::size_t listings = 0;
    for (const auto& [name, history] : histories_) {
      for (auto [listing, view] : history.listings) listings += listed_late(name, listing, view);
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
    }
    std::sort(found.begin(), found.end(),
              [](const LateLook& a, const LateLook& b) { return a.look < b.look; });
    return {std::move(found), listings, unknown_versions_};
  }

 private:
  using OpeningId = std::pair<std::uint32_t, std::uint32_t>;  // process and number

  const FileEvent& event(std::uint32_t index) const { return names_.events[index]; }

  bool several_views() const {
    if (job_.hosts.size() > 1) return true;
    return std::any_of(names_.places.begin(), names_.places.end(),
                       [](const std::string& place) { return !place.starts_with("0!"); });
  }

  void note(std::uint32_t index) {
    const FileEvent& at = event(index);
    if (at.by_descriptor) return;
    if (!names_path(at)) return note_transfer(index);
    if (at.made != kNoName && names_.judged[at.made] && !makes_link(at)) {
      View view = views_.of(at, at.made == at.target);
      histories_[at.made].views.insert(view);
      histories_[at.made].makers.emplace_back(index, view);
    }
    if (makes_link(at) && at.target != kNoName) links_.insert(at.target);
    if (at.operation == Operation::kRename && at.made != kNoName) replacings_[at.made].push_back(index);
    if (at.name == kNoName) return;
    if (files::removes(at)) removals_[at.name].push_back(index);
    if (!names_.judged[at.name]) return;
    History& history = histories_[at.name];
    if (at.operation == Operation::kTruncate) history.truncations.push_back(index);
    if (files::is_look(at)) note_look(history, index);
    if (opens_to_write(at)) note_opening(history, index);
    if (!files::lists(at.operation) || at.error) return;
    history.listings.emplace_back(index, views_.of(at));
    history.views.insert(history.listings.back().second);
  }

  bool makes_link(const FileEvent& at) const {
    return at.operation == Operation::kLink && files::makes_symbolic_link(job_.record(at.event));
  }

  // Of an attempt to make a file in a folder that is not there, `name` is the folder, and so is the opening's
  // path below it.
  void note_look(History& history, std::uint32_t index) {
    const FileEvent& at = event(index);
    bool creates = at.operation == Operation::kOpen && at.flags & O_CREAT;
    if (creates || (at.error && at.error != ENOENT)) return;
    View view = views_.of(at);
    history.views.insert(view);
    (at.error ? history.looks : history.sights).emplace_back(index, view);
    if (at.operation == Operation::kOpen && !at.error) reading_[{at.event.process, at.opening}] = index;
  }

  void note_opening(History& history, std::uint32_t index) {
    const FileEvent& at = event(index);
    if (at.flags & O_TRUNC) history.truncations.push_back(index);
    View view = views_.of(at);
    history.views.insert(view);
    writing_[{at.event.process, at.opening}] = {at.name, history.writings.size()};
    history.writings.push_back({index, view});
  }

  void note_transfer(std::uint32_t index) {
    const FileEvent& at = event(index);
    if (at.operation == Operation::kTruncate && at.name != kNoName)
      histories_[at.name].truncations.push_back(index);
    if (at.operation == Operation::kRead) return note_end(index);
    auto known = writing_.find({at.event.process, at.opening});
    if (known == writing_.end()) return;
    Writing& writing = histories_[known->second.first].writings[known->second.second];
    if (at.operation == Operation::kClose) writing.closed = index;
    if (at.operation != Operation::kWrite) return;
    writing.known = writing.known && at.part;
    if (at.part) writing.end = std::max(writing.end, at.to);
  }

  void note_end(std::uint32_t index) {
    const FileEvent& at = event(index);
    auto opening = reading_.find({at.event.process, at.opening});
    if (at.bytes || at.error || !at.part || opening == reading_.end()) return;
    opened_[index] = opening->second;
    histories_[at.name].ends.emplace_back(index, views_.of(event(opening->second)));
  }

  bool before(std::uint32_t first, std::uint32_t second) const {
    return order_->before(span_of(event(first)), span_of(event(second)), ordering::Trust::kSeen);
  }

  // The name's own, and those of the folders above it, of which another one may take the place, too.
  std::vector<std::uint32_t> removals_of(Name name) const {
    std::vector<std::uint32_t> removals;
    std::string_view place = names_.places[name];
    for (std::size_t end = place.size(); end != std::string_view::npos; end = place.rfind('/')) {
      place = place.substr(0, end);
      auto known = by_place_.find(place);
      if (known == by_place_.end()) continue;
      for (const auto* kind : {&removals_, &replacings_}) {
        auto own = kind->find(known->second);
        if (own == kind->end() || (kind == &replacings_ && known->second == name)) continue;
        removals.insert(removals.end(), own->second.begin(), own->second.end());
      }
    }
    return removals;
  }

  // Whether any of these may come between the two.
  bool may_undo(const std::vector<std::uint32_t>& undoing, std::uint32_t change, std::uint32_t look) const {
    return std::any_of(undoing.begin(), undoing.end(), [&](std::uint32_t at) {
      return at != change && !before(at, change) && !before(look, at);
    });
  }

  bool of_others(std::uint32_t change, const View& from, std::uint32_t look, const View& view) const {
    return event(change).rank != event(look).rank && from != view;
  }

  // Whether the entry of a file that was made before should be among those that it told.
  bool listed_late(Name folder, std::uint32_t listing, const View& view) const {
    bool late = false;
    files::for_each_below(by_place_, names_.places[folder], [&](Name name) {
      auto inside = histories_.find(name);
      if (late || inside == histories_.end()) return;
      late = std::ranges::any_of(inside->second.makers, [&](const auto& maker) {
        return of_others(maker.first, maker.second, listing, view) && before(maker.first, listing);
      });
    });
    return late;
  }

  std::optional<LateLook> judge_miss(Name name, const History& history, std::uint32_t look,
                                     const View& view) const {
    if (links_.contains(name)) return std::nullopt;
    for (auto maker = history.makers.rbegin(); maker != history.makers.rend(); ++maker) {
      auto [change, from] = *maker;
      if (!of_others(change, from, look, view) || !before(change, look)) continue;
      if (may_undo(removals_of(name), change, look)) return std::nullopt;
      LateLook late{Late::kName, change, change, look, look};
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
    if (!job_.record(at.event).end) return std::nullopt;
    if (at.operation == Operation::kRead)
      return event(opened_.at(look)).inode == inode ? std::optional(at.from) : std::nullopt;
    if (at.operation != Operation::kStat || at.inode != inode) return std::nullopt;
    return trace::payload_of<trace::payload::FileName>(job_.record(at.event)).size;
  }

  std::optional<LateLook> judge_size(Name name, const History& history, std::uint32_t look,
                                     const View& view) const {
    // What a reader knows of a file is as old as its opening.
    std::uint32_t asked = event(look).operation == Operation::kRead ? opened_.at(look) : look;
    for (const Writing& writing : history.writings) {
      if (writing.closed == kNoEvent || !writing.known || !event(writing.opening).inode) continue;
      auto seen = seen_by(look, event(writing.opening).inode);
      if (!seen || *seen >= writing.end || !of_others(writing.opening, writing.view, look, view)) continue;
      if (!before(writing.closed, asked)) continue;
      if (may_undo(removals_of(name), writing.opening, look) ||
          may_undo(history.truncations, writing.opening, look))
        continue;
      LateLook late{Late::kSize, writing.opening, writing.closed, look, look};
      late.seen = *seen;
      late.written = writing.end;
      find_shown(history, view, event(writing.opening).inode, late);
      return late;
    }
    return std::nullopt;
  }

  void find_shown(const History& history, const View& view, std::uint64_t inode, LateLook& late) const {
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

  // Whether from this call on the name means the file whose inode it tells, and no link.
  bool puts_file(std::uint32_t maker) const {
    const FileEvent& at = event(maker);
    if (!at.inode) return false;
    if (at.operation == Operation::kOpen) return at.flags & O_EXCL;
    if (at.operation != Operation::kRename || at.name == kNoName) return false;
    auto source = histories_.find(at.name);
    return source != histories_.end() && std::ranges::any_of(source->second.writings, [&](const Writing& by) {
             return by.opening < maker && event(by.opening).inode == at.inode;
           });
  }

  // What told, before the change and through another mount, that the name meant this file: it is an older
  // version, and its number is not made up. kNoEvent if nothing did. Inode 0: any file.
  std::uint32_t older_version(const History& history, std::uint32_t change, const View& view,
                              std::uint64_t inode) const {
    for (const auto* kind : {&history.makers, &history.sights})
      for (auto [at, from] : *kind)
        if (from != view && event(at).inode && (!inode || event(at).inode == inode) && before(at, change))
          return at;
    return kNoEvent;
  }

  std::optional<LateLook> judge_version(Name name, const History& history, std::uint32_t look,
                                        const View& view) {
    std::uint64_t seen = event(look).inode;
    if (links_.contains(name) || !seen) return std::nullopt;
    auto last = std::ranges::find_if(history.makers.rbegin(), history.makers.rend(), [&](const auto& maker) {
      return puts_file(maker.first) && before(maker.first, look);
    });
    if (last == history.makers.rend()) return std::nullopt;
    auto [change, from] = *last;
    std::uint64_t put = event(change).inode;
    if (put == seen || !of_others(change, from, look, view)) return std::nullopt;
    std::vector<std::uint32_t> undoing = removals_of(name);
    for (auto [maker, through] : history.makers)  // an opening of that file again changes nothing
      if (event(maker).operation != Operation::kOpen || event(maker).inode != put) undoing.push_back(maker);
    if (may_undo(undoing, change, look)) return std::nullopt;
    bool known = std::get<2>(files::inode_at(names_.places[name], 0, seen));
    std::uint32_t older = older_version(history, change, view, known ? seen : 0);
    if (older == kNoEvent) return std::nullopt;
    if (!known) {
      ++unknown_versions_;
      return std::nullopt;
    }
    LateLook late{Late::kVersion, change, change, look, look};
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

  const model::Job& job_;
  const files::SharedNames& names_;
  const ordering::HappensBefore* order_ = nullptr;
  files::EventViews views_;
  std::map<std::string_view, Name> by_place_;
  std::map<Name, History> histories_;
  std::map<Name, std::vector<std::uint32_t>> removals_, replacings_;
  std::set<Name> links_;                                       // symbolic ones that the job made
  std::map<OpeningId, std::pair<Name, std::size_t>> writing_;  // into History::writings
  std::map<OpeningId, std::uint32_t> reading_;
  std::map<std::uint32_t, std::uint32_t> opened_;  // by read: its opening
  std::size_t unknown_versions_ = 0;
};

}  // namespace

std::vector<ordering::ThreadId> late_looking_threads(const model::Job& job, const files::SharedNames& names) {
  return LateFiles(job, names).threads();
}

LateLooks find_late_looks(const model::Job& job, const files::SharedNames& names,
                          const ordering::HappensBefore& order) {
  return LateFiles(job, names).find(order);
}

}  // namespace ddpscope::patterns
