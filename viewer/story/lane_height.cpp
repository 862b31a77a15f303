// How high the lane of a finding is.
#include <algorithm>

#include "viewer/story/story.h"

namespace ddpscope::viewer {

namespace {
constexpr float kFooter = 20;  // says what the arrows mean
}

float file_line_middle(std::size_t line) { return 7 + 20 * static_cast<float>(line) + 8; }

float lane_height(const Story& story) {
  switch (story.lane) {
    case StoryLane::kFile: {
      auto lines = static_cast<float>(std::min<std::size_t>(story.lines.size(), kMostFileLines));
      return std::max(20 * lines + 14 + (story.arrows.empty() ? 0 : kFooter), 64.0f);
    }
    case StoryLane::kBatches:
      return 28.0f * static_cast<float>(story.lines.size()) +
             16.0f * static_cast<float>(story.lines.size() - 1) + 14;
    case StoryLane::kSyncs:
      return 78;
    case StoryLane::kAbsence:
      return 62;
    case StoryLane::kNone:
      break;
  }
  return 0;
}

namespace {
// What is not squeezed.
float footer_of(const Story& story) {
  return story.lane == StoryLane::kFile && !story.arrows.empty() ? kFooter : 0;
}
}  // namespace

float least_lane_height(const Story& story) {
  float part = story.lane == StoryLane::kFile ? 0.75f : story.lane == StoryLane::kBatches ? 0.6f : 1;
  float footer = footer_of(story);
  return part * (lane_height(story) - footer) + footer;
}

float lane_squeeze(const Story& story, float height) {
  float footer = footer_of(story), own = lane_height(story) - footer;
  return own > 0 ? (height - footer) / own : 1;
}

}  // namespace ddpscope::viewer
