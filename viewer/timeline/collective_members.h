// What is told of a collective and its members in words.
#pragma once
#include <string>
#include <vector>

#include "viewer/timeline/collective_shape.h"

namespace ddpscope::viewer {

struct CollectiveSummary {
  struct Member {
    std::size_t index;  // as CommunicatorRow::members
    std::string text;
  };
  std::string title;               // "#12 AllReduce float32×262,144"
  std::vector<std::string> facts;  // who came last, how long it took then
  std::vector<Member> members;     // those who deviate, then those who came last
  std::size_t more = 0;            // members that are left out
};

// Of no more than `most` members.
CollectiveSummary summary_of(const merged::CommunicatorRow& communicator,
                             const merged::Collective& collective, const CollectiveShape& shape,
                             std::size_t most);

}  // namespace ddpscope::viewer
