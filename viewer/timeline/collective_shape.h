// What a collective looks like, from when its members came and went.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "collector/merged/reader.h"
#include "viewer/view/folding.h"

namespace ddpscope::viewer {

struct MemberShape {
  bool takes_part = false;  // issued what most did
  bool elsewhere = false;   // issued something else at this place
  bool absent = false;      // has no call here
  bool outside = false;     // of a message: neither end, and so absent without being missed
  bool never = false;       // never comes out of it
  bool timed = false;       // by its device, not by its host's wait
  Kind kind = Kind::kCollective;
  // Of an absent one: where its part is missing.
  std::int64_t from_ns = 0, to_ns = 0;
  // Its host has issued it and nothing of this communicator is before it: from_ns or, where something is
  // wrong with the collective, earlier (its stream is still busy with something else).
  std::int64_t came_ns = 0;
  std::int64_t missing_ns = 0;  // of one absent or elsewhere: since then its part is missing
};
struct CollectiveShape {
  std::vector<MemberShape> members;  // as CommunicatorRow::members
  std::uint32_t signature = 0;       // what most issued, index
  bool contested = false;            // as many issued something else: none takes part, all are elsewhere
  std::int64_t first_ns = 0, last_arrival_ns = 0;
  std::int64_t end_ns = 0;  // the last to leave; run_end_ns if one never does
  bool never = false;
  Kind kind = Kind::kCollective;  // what it was to most: a barrier, though a rank runs something else
  std::uint64_t behind = 0;       // so many later ones were issued and wait for it
  bool message = false;           // a send and its receive
};
// By itself, as if its members did nothing before and after it. What never ends is drawn to the run's end.
// Looks at events only where that needs no waiting, or `may_wait`.
CollectiveShape shape_of(const merged::Reader& reader, const merged::Collective& collective,
                         bool may_wait = true);

// Of collectives whose sequence numbers follow each other; of the first and the last less is known than of
// those between. A communicator runs its collectives one after the other: of what the device timed that is
// seen, of the rest only when the host issued it and when its wait, often for several, was over. So each
// begins at the earliest when the one before it is over, and is over at the latest
// - when the other members' devices were done with it,
// - when the next one began or, where nothing else is known, was issued.
// One that a member never came to, or that never completes because its members differ, is not over when the
// next is issued: that one waits behind it, and so do all later ones that are not seen to complete.
// Messages run beside each other: each by itself.
std::vector<CollectiveShape> shapes_in_order(const merged::Reader& reader,
                                             const std::vector<merged::Collective>& collectives,
                                             bool may_wait = true);
// Of one as it stands between its neighbours; nothing if there is none, or it cannot be read. May wait.
std::optional<CollectiveShape> shape_at(const merged::Reader& reader, std::uint32_t communicator,
                                        std::uint64_t sequence);
// By merged::CollectiveFlag: a member is missing or differs, or it never completes.
bool is_troubled(std::uint8_t flags);
// It is not over before the run, or the communicator, is ended.
bool holds_up(std::uint8_t flags);

// "AllReduce float32×262,144", "barrier"
std::string signature_text(const matching::Signature& signature);
std::string collective_text(const merged::Collective& collective, const CollectiveShape& shape);
// What one member issued.
std::string member_text(const merged::Collective& collective, const CollectiveShape& shape,
                        std::size_t member);

}  // namespace ddpscope::viewer
