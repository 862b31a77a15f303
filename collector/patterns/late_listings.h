// Listings of folders that come after the making of an entry in every run, through another mount, and do not
// tell it.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "collector/patterns/late_files.h"
#include "collector/patterns/name_changes.h"

namespace ddpscope::patterns {

class LateListings {
 public:
  explicit LateListings(const NameChanges& changes);

  // Of each rank that is not in `told` the first, of the listings of the folder in which the name is.
  void judge(files::Name name, const NameHistory& history, std::set<std::int32_t>& told,
             std::vector<LateLook>& found);

  // See LateLooks.
  std::size_t count_unjudged() const;
  std::size_t count_unproven() const { return unproven_.size(); }

 private:
  const files::FileEvent& event(std::uint32_t index) const { return changes_.event(index); }
  struct EntryJudge;

  const std::vector<WholeListing>& of_folder_of(files::Name name) const;
  bool tells_late(files::Name folder, const Seen& opening) const;
  std::vector<std::uint32_t> undoing_of(files::Name name, const NameHistory& history) const;
  bool is_replaced(const NameHistory& history, std::uint32_t change, std::uint32_t listing) const;
  bool made_again(const NameHistory& history, const LateLook& late, std::uint32_t until) const;
  std::vector<Seen> finders_of(const NameHistory& history, files::Name name, std::uint64_t hash) const;
  void find_shown(const std::vector<Seen>& finders, const WholeListing& listing, LateLook& late) const;
  bool is_proven(const NameHistory& history, LateLook& late) const;

  const NameChanges& changes_;
  std::map<std::string_view, files::Name> folders_;          // that were listed, by place
  std::map<files::Name, std::vector<files::Name>> entries_;  // that the job made, by folder
  std::set<std::uint32_t> unproven_;                         // listings
};

}  // namespace ddpscope::patterns
