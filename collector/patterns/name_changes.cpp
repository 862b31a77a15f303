// Notes what the job does with its names, event by event.
#include "collector/patterns/name_changes.h"

#include <fcntl.h>

#include <algorithm>
#include <bit>
#include <cerrno>

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

}  // namespace

NameChanges::NameChanges(const model::Job& job, const files::SharedNames& names)
    : job_(job), names_(names), views_(job) {
  for (Name name = 0; name < names.places.size(); ++name) by_place_.emplace(names.places[name], name);
  if (!several_views()) return;
  for (std::uint32_t i = 0; i < names.events.size(); ++i) note(i);
}

std::vector<ordering::ThreadId> NameChanges::threads() const {
  std::set<ordering::ThreadId> threads;
  auto add = [&](std::uint32_t index) { threads.insert(span_of(event(index)).thread); };
  for (const auto& [name, history] : histories_) {
    for (auto [listing, view] : history.listings) add(listing);
    for (const WholeListing& listing : history.listed) add(listing.event);
    for (auto [maker, view] : history.makers) add(maker);
    bool replaced = std::ranges::any_of(history.makers, [&](auto maker) { return puts_file(maker.first); });
    bool looked_for =
        !history.looks.empty() || (!history.makers.empty() && is_listed(files::folder_of(place(name))));
    if (!looked_for && history.writings.empty() && !replaced) continue;
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

bool NameChanges::is_listed(std::string_view place) const {
  auto folder = by_place_.find(place);
  auto history = folder == by_place_.end() ? histories_.end() : histories_.find(folder->second);
  return history != histories_.end() && !history->second.listed.empty();
}

bool NameChanges::several_views() const {
  if (job_.hosts.size() > 1) return true;
  return std::any_of(names_.places.begin(), names_.places.end(),
                     [](const std::string& place) { return !place.starts_with("0!"); });
}

void NameChanges::note(std::uint32_t index) {
  const FileEvent& at = event(index);
  if (at.by_descriptor) return;
  if (at.operation == Operation::kListing) return note_listing(index);
  if (!names_path(at)) return note_transfer(index);
  if (at.made != kNoName && names_.judged[at.made] && !makes_link(at)) {
    View view = views_.of(at, at.made == at.target);
    histories_[at.made].makers.emplace_back(index, view);
  }
  if (makes_link(at) && at.target != kNoName) links_.insert(at.target);
  if (at.operation == Operation::kRename && at.made != kNoName) replacings_[at.made].push_back(index);
  if (at.name == kNoName) return;
  if (files::removes(at)) removals_[at.name].push_back(index);
  if (!names_.judged[at.name]) return;
  NameHistory& history = histories_[at.name];
  if (at.operation == Operation::kTruncate) history.truncations.push_back(index);
  if (files::is_look(at)) note_look(history, index);
  if (opens_to_write(at)) note_opening(history, index);
  if (!files::lists(at.operation) || at.error) return;
  history.listings.emplace_back(index, views_.of(at));
}

bool NameChanges::makes_link(const FileEvent& at) const {
  return at.operation == Operation::kLink && files::makes_symbolic_link(job_.record(at.event));
}

// Of an attempt to make a file in a folder that is not there, `name` is the folder, and so is the opening's
// path below it.
void NameChanges::note_look(NameHistory& history, std::uint32_t index) {
  const FileEvent& at = event(index);
  bool creates = at.operation == Operation::kOpen && at.flags & O_CREAT;
  if (creates || (at.error && at.error != ENOENT)) return;
  View view = views_.of(at);
  (at.error ? history.looks : history.sights).emplace_back(index, view);
  if (at.operation == Operation::kOpen && !at.error) reading_[{at.event.process, at.opening}] = index;
}

void NameChanges::note_opening(NameHistory& history, std::uint32_t index) {
  const FileEvent& at = event(index);
  if (at.flags & O_TRUNC) history.truncations.push_back(index);
  View view = views_.of(at);
  writing_[{at.event.process, at.opening}] = {at.name, history.writings.size()};
  history.writings.push_back({index, view});
}

void NameChanges::note_transfer(std::uint32_t index) {
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

void NameChanges::note_end(std::uint32_t index) {
  const FileEvent& at = event(index);
  auto opening = reading_.find({at.event.process, at.opening});
  if (at.bytes || at.error || !at.part || opening == reading_.end()) return;
  opened_[index] = opening->second;
  histories_[at.name].ends.emplace_back(index, views_.of(event(opening->second)));
}

// One that has lost a record is none.
void NameChanges::note_listing(std::uint32_t index) {
  const FileEvent& at = event(index);
  auto told = trace::payload_of<trace::payload::Listing>(record(index));
  WholeListing& listing = listing_[span_of(at).thread];
  if (told.block == 0) listing = {index, views_.of(at), {}};
  bool goes_on = told.block == listing.blocks.size() && told.block < told.blocks;
  if (!goes_on || event(listing.event).name != at.name || event(listing.event).begin_ns != at.begin_ns)
    return;
  listing.blocks.push_back({{told.first, told.second, told.third}});
  bool whole = std::has_single_bit(told.blocks) && listing.blocks.size() == told.blocks;
  if (whole && names_.judged[at.name]) histories_[at.name].listed.push_back(std::move(listing));
}

bool NameChanges::before(std::uint32_t first, std::uint32_t second) const {
  return order_->before(span_of(event(first)), span_of(event(second)), ordering::Trust::kSeen);
}

bool NameChanges::begins_later(std::uint32_t at, std::uint32_t than) const {
  auto host_of = [&](std::uint32_t index) { return job_.processes[event(index).event.process].host; };
  return event(at).begin_ns - job_.host_error_between(host_of(at), host_of(than)) > event(than).begin_ns;
}

std::vector<std::uint32_t> NameChanges::removals_of(Name name) const {
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

bool NameChanges::may_undo(const std::vector<std::uint32_t>& undoing, std::uint32_t change,
                           std::uint32_t look) const {
  return std::any_of(undoing.begin(), undoing.end(), [&](std::uint32_t at) {
    return at != change && !before(at, change) && !before(look, at);
  });
}

bool NameChanges::puts_file(std::uint32_t maker) const {
  const FileEvent& at = event(maker);
  if (!at.inode) return false;
  if (at.operation == Operation::kOpen) return at.flags & O_EXCL;
  if (at.operation != Operation::kRename || at.name == kNoName) return false;
  auto source = histories_.find(at.name);
  return source != histories_.end() && std::ranges::any_of(source->second.writings, [&](const Writing& by) {
           return by.opening < maker && event(by.opening).inode == at.inode;
         });
}

}  // namespace ddpscope::patterns
