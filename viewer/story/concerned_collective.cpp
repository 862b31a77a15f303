// Which collective a call of the evidence is about.
#include "viewer/story/concerned_collective.h"

#include <algorithm>

namespace ddpscope::viewer {

merged::CollectiveRef collective_of(const merged::Reader& reader, merged::EventPlace place) {
  if (place == merged::kNoEvent) return {};
  auto detail = reader.detail(place);
  if (!detail) return {};
  merged::CollectiveRef own = detail->collective;
  if (own.communicator == merged::kNone || own.count < 2) return own;
  auto all = reader.collectives(own.communicator, own.sequence, own.sequence + own.count);
  own.count = 1;
  if (!all) return own;
  auto odd = std::find_if(all->begin(), all->end(), [](const merged::Collective& collective) {
    return collective.flags & (merged::kMissing | merged::kMismatched);
  });
  if (odd != all->end()) own.sequence = odd->sequence;
  return own;
}

}  // namespace ddpscope::viewer
