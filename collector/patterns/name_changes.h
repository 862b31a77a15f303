// Name by name: who changes it, who takes it away, who looks through which mount, and in which order.
#pragma once
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/files/event_views.h"
#include "collector/files/shared_names.h"
#include "collector/ordering/happens_before.h"
#include "trace/listing.h"

namespace ddpscope::patterns {

// An event (in SharedNames::events), and through which mount.
using Seen = std::pair<std::uint32_t, files::View>;

// An opening by which a file was written.
struct Writing {
  std::uint32_t opening;
  files::View view;
  std::uint32_t closed = files::kNoEvent;
  std::uint64_t end = 0;  // of the bytes that were written
  bool known = true;      // which bytes
};

// A folder that was listed from its start to its end.
struct WholeListing {
  std::uint32_t event;  // its first record
  files::View view;
  std::vector<trace::ListingBlock> blocks;
};

struct NameHistory {
  std::vector<Seen> makers;                // by begin, as all
  std::vector<std::uint32_t> truncations;  // by name or opening, and by O_TRUNC
  std::vector<Writing> writings;
  std::vector<Seen> looks;           // that fail
  std::vector<Seen> sights;          // that find the name
  std::vector<Seen> listings;        // of a folder: its openings
  std::vector<WholeListing> listed;  // of a folder: what these told
  std::vector<Seen> ends;            // reads that find the file's end; views: of their openings
};

class NameChanges {
 public:
  NameChanges(const model::Job& job, const files::SharedNames& names);

  // Threads whose events, of which the order is asked, are in the histories.
  std::vector<ordering::ThreadId> threads() const;
  void order_by(const ordering::HappensBefore& order) { order_ = &order; }

  const std::map<files::Name, NameHistory>& histories() const { return histories_; }
  const files::FileEvent& event(std::uint32_t index) const { return names_.events[index]; }
  const std::string& place(files::Name name) const { return names_.places[name]; }
  trace::Record record(std::uint32_t index) const { return job_.record(event(index).event); }
  // Of a read that finds its file's end.
  std::uint32_t opening_of(std::uint32_t read) const { return opened_.at(read); }
  bool is_link(files::Name name) const { return links_.contains(name); }  // a symbolic one that the job made

  bool before(std::uint32_t first, std::uint32_t second) const;
  bool begins_later(std::uint32_t at, std::uint32_t than) const;  // by clocks, less their error
  // The name's own removals, and those of the folders above it, of which another one may take the place, too.
  std::vector<std::uint32_t> removals_of(files::Name name) const;
  // Whether any of these may come between the two.
  bool may_undo(const std::vector<std::uint32_t>& undoing, std::uint32_t change, std::uint32_t look) const;
  bool of_others(const Seen& change, const Seen& look) const {
    return event(change.first).rank != event(look.first).rank && change.second != look.second;
  }
  // Whether from this call on the name means the file whose inode it tells, and no link.
  bool puts_file(std::uint32_t maker) const;

 private:
  using OpeningId = std::pair<std::uint32_t, std::uint32_t>;  // process and number

  bool is_listed(std::string_view place) const;
  bool several_views() const;
  void note(std::uint32_t index);
  bool makes_link(const files::FileEvent& at) const;
  void note_look(NameHistory& history, std::uint32_t index);
  void note_opening(NameHistory& history, std::uint32_t index);
  void note_transfer(std::uint32_t index);
  void note_end(std::uint32_t index);
  void note_listing(std::uint32_t index);

  const model::Job& job_;
  const files::SharedNames& names_;
  const ordering::HappensBefore* order_ = nullptr;
  files::EventViews views_;
  std::map<std::string_view, files::Name> by_place_;
  std::map<files::Name, NameHistory> histories_;
  std::map<files::Name, std::vector<std::uint32_t>> removals_, replacings_;
  std::set<files::Name> links_;
  std::map<OpeningId, std::pair<files::Name, std::size_t>> writing_;  // into NameHistory::writings
  std::map<OpeningId, std::uint32_t> reading_;
  std::map<std::uint32_t, std::uint32_t> opened_;       // by read: its opening
  std::map<ordering::ThreadId, WholeListing> listing_;  // whose records have not all been met
};

}  // namespace ddpscope::patterns
