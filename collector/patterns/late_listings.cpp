// What was made before, and was not told, while others found it.
#include "collector/patterns/late_listings.h"

#include <fcntl.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "collector/ordering/file_edges.h"

namespace ddpscope::patterns {
namespace {

using files::FileEvent;
using files::kNoEvent;
using files::Name;
using files::View;
using trace::Operation;

// File systems tell such a name as it was made, but for the case of its letters. Others may be told in
// another form: normalised, with a character that Windows does not know replaced, shortened.
bool is_plain(std::string_view name) {
  constexpr std::string_view kOdd = "\"*:<>?\\|~";
  bool plain =
      std::ranges::all_of(name, [&](char c) { return c > ' ' && c < 127 && kOdd.find(c) == kOdd.npos; });
  return plain && !name.empty() && !name.ends_with('.');
}

std::string_view entry_of(std::string_view place) { return place.substr(place.rfind('/') + 1); }

const trace::ListingBlock& block_of(const WholeListing& listing, std::uint64_t hash) {
  return listing.blocks[trace::block_of(hash, static_cast<unsigned>(listing.blocks.size()))];
}

bool may_tell(const WholeListing& listing, std::uint64_t hash) {
  return trace::may_hold(block_of(listing, hash), hash);
}

bool surely_tells(const WholeListing& listing, std::uint64_t hash) {
  return may_tell(listing, hash) && trace::is_sparse(block_of(listing, hash));
}

ordering::ThreadId thread_of(const FileEvent& event) { return ordering::span_of(event).thread; }

}  // namespace

// One entry, in the listings of its folder one after the other.
struct LateListings::EntryJudge {
  LateListings& of;
  Name name;
  const NameHistory& history;
  std::uint64_t hash;
  std::vector<std::uint32_t> undoing = of.undoing_of(name, history);
  std::vector<Seen> finders = of.finders_of(history, name, hash);
  // What undoes a change before one listing does so before later ones of the same thread.
  std::set<std::pair<ordering::ThreadId, std::uint32_t>> undone{};

  // The last maker that comes before it, if by another rank through another mount, and if nothing undoes it.
  std::uint32_t change_before(const WholeListing& listing) {
    for (auto maker = history.makers.rbegin(); maker != history.makers.rend(); ++maker) {
      std::uint32_t change = maker->first;
      if (of.changes_.begins_later(change, listing.event)) continue;
      std::pair known{thread_of(of.event(listing.event)), change};
      if (undone.contains(known)) return kNoEvent;
      if (!of.changes_.of_others(*maker, {listing.event, listing.view}) ||
          !of.changes_.before(change, listing.event))
        continue;
      if (!of.changes_.may_undo(undoing, change, listing.event)) return change;
      undone.insert(known);
      return kNoEvent;
    }
    return kNoEvent;
  }

  std::optional<LateLook> judge(const WholeListing& listing) {
    if (may_tell(listing, hash)) return std::nullopt;
    std::uint32_t change = change_before(listing);
    if (change == kNoEvent || of.is_replaced(history, change, listing.event)) return std::nullopt;
    LateLook late{Late::kEntry, name, change, change, listing.event, listing.event};
    late.seen = trace::payload_of<trace::payload::Listing>(of.changes_.record(listing.event)).entries;
    of.find_shown(finders, listing, late);
    if (of.is_proven(history, late)) return late;
    of.unproven_.insert(listing.event);
    return std::nullopt;
  }
};

LateListings::LateListings(const NameChanges& changes) : changes_(changes) {
  for (const auto& [name, history] : changes.histories())
    if (!history.listings.empty() || !history.listed.empty()) folders_.emplace(changes.place(name), name);
  for (const auto& [name, history] : changes.histories()) {
    auto folder = folders_.find(files::folder_of(changes.place(name)));
    if (folder != folders_.end() && !history.makers.empty()) entries_[folder->second].push_back(name);
  }
}

const std::vector<WholeListing>& LateListings::of_folder_of(Name name) const {
  static const std::vector<WholeListing> kNone;
  auto folder = folders_.find(files::folder_of(changes_.place(name)));
  return folder == folders_.end() ? kNone : changes_.histories().at(folder->second).listed;
}

// Whether the entry of a file that was made before should be among those that it told.
bool LateListings::tells_late(Name folder, const Seen& opening) const {
  auto entries = entries_.find(folder);
  return entries != entries_.end() && std::ranges::any_of(entries->second, [&](Name name) {
           return std::ranges::any_of(changes_.histories().at(name).makers, [&](const Seen& maker) {
             return changes_.of_others(maker, opening) && changes_.before(maker.first, opening.first);
           });
         });
}

std::size_t LateListings::count_unjudged() const {
  std::size_t count = 0;
  for (const auto& [place, folder] : folders_) {
    const NameHistory& history = changes_.histories().at(folder);
    std::map<ordering::ThreadId, std::vector<std::uint32_t>> whole;
    for (const WholeListing& listing : history.listed)
      whole[thread_of(event(listing.event))].push_back(listing.event);
    for (const Seen& opening : history.listings) {
      const FileEvent& at = event(opening.first);
      const std::vector<std::uint32_t>& own = whole[thread_of(at)];
      auto next =
          std::ranges::upper_bound(own, at.end_ns, {}, [&](std::uint32_t i) { return event(i).begin_ns; });
      bool told = next != own.begin() && event(*std::prev(next)).end_ns >= at.begin_ns;
      count += !told && tells_late(folder, opening);
    }
  }
  return count;
}

// Who makes it where nothing is does so after it was taken away.
std::vector<std::uint32_t> LateListings::undoing_of(Name name, const NameHistory& history) const {
  std::vector<std::uint32_t> undoing = changes_.removals_of(name);
  for (auto [maker, view] : history.makers) {
    const FileEvent& at = event(maker);
    bool replaces = at.operation == Operation::kRename;
    if (!replaces && (at.operation != Operation::kOpen || at.flags & O_EXCL)) undoing.push_back(maker);
  }
  return undoing;
}

// One that is replaced by a rename has its name all the time; a listing meanwhile may pass it by.
bool LateListings::is_replaced(const NameHistory& history, std::uint32_t change,
                               std::uint32_t listing) const {
  return std::ranges::any_of(history.makers, [&](const Seen& maker) {
    return maker.first != change && event(maker.first).operation == Operation::kRename &&
           !changes_.before(maker.first, listing) && !changes_.before(listing, maker.first);
  });
}

bool LateListings::made_again(const NameHistory& history, const LateLook& late, std::uint32_t until) const {
  return std::ranges::any_of(history.makers, [&](const Seen& maker) {
    return maker.first < until && maker.first != late.change && !changes_.before(maker.first, late.look);
  });
}

// By begin.
std::vector<Seen> LateListings::finders_of(const NameHistory& history, Name name, std::uint64_t hash) const {
  std::vector<Seen> finders = history.sights;
  for (const WholeListing& listing : of_folder_of(name))
    if (surely_tells(listing, hash)) finders.emplace_back(listing.event, listing.view);
  std::ranges::sort(finders, {}, &Seen::first);
  return finders;
}

void LateListings::find_shown(const std::vector<Seen>& finders, const WholeListing& listing,
                              LateLook& late) const {
  auto later = std::ranges::upper_bound(finders, listing.event, {}, &Seen::first);
  for (; later != finders.end() && (late.shown == kNoEvent || late.there == kNoEvent); ++later) {
    std::uint32_t& known = later->second == listing.view ? late.shown : late.there;
    if (known == kNoEvent && changes_.begins_later(later->first, listing.event)) known = later->first;
  }
}

// Ranks look for what they need. A listing tells of all that there is, and of what the job has made another
// program may have taken some away.
bool LateListings::is_proven(const NameHistory& history, LateLook& late) const {
  late.made_again = late.shown != kNoEvent && made_again(history, late, late.shown);
  if (late.there != kNoEvent && made_again(history, late, late.there)) late.there = kNoEvent;
  return (late.shown != kNoEvent && !late.made_again) || late.there != kNoEvent;
}

void LateListings::judge(Name name, const NameHistory& history, std::set<std::int32_t>& told,
                         std::vector<LateLook>& found) {
  const std::vector<WholeListing>& listings = of_folder_of(name);
  std::string_view entry = entry_of(changes_.place(name));
  if (listings.empty() || history.makers.empty() || changes_.is_link(name) || !is_plain(entry)) return;
  EntryJudge judge{*this, name, history, trace::hash_entry(entry)};
  for (const WholeListing& listing : listings) {
    if (told.contains(event(listing.event).rank)) continue;
    std::optional<LateLook> late = judge.judge(listing);
    if (!late) continue;
    told.insert(event(listing.event).rank);
    for (const WholeListing& other : listings)
      if (other.view == listing.view && other.event < late->shown && !may_tell(other, judge.hash))
        late->last = std::max(late->last, other.event);
    found.push_back(*late);
  }
}

}  // namespace ddpscope::patterns
