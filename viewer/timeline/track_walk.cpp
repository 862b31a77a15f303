// Descends the pyramid of a track.
#include "viewer/timeline/track_walk.h"

#include <algorithm>
#include <array>

namespace ddpscope::viewer {
namespace {

class TrackWalk {
 public:
  TrackWalk(const merged::Reader& reader, std::uint32_t track, const TimeView& view, WalkBudget& budget,
            std::vector<Bar>& bars)
      : reader_(reader), track_(track), view_(view), x_of_(view), budget_(budget), folder_(bars) {}

  void run() {
    const merged::Track& track = reader_.tracks()[track_];
    if (track.levels == 0) return;
    unsigned top = track.levels - 1u;
    children(top, 0, reader_.nodes(track_, top));
  }

 private:
  // Nodes first ... end - 1 of a level; false if they are not there, and asks for them.
  bool children(unsigned level, std::uint64_t first, std::uint64_t end) {
    if (budget_.limited() && !reader_.nodes_ready(track_, level, first, end)) {
      reader_.want_nodes(track_, level, first, end);
      budget_.leave_out();
      return false;
    }
    auto nodes = reader_.level(track_, level);
    end = std::min<std::uint64_t>(end, nodes.size());
    // Of a whole level only those in view are looked at.
    auto before = [&](const merged::Node& node) { return node.last_end_ns < view_.shown.from_ns; };
    auto from = nodes.begin() + static_cast<std::ptrdiff_t>(std::min(first, end));
    auto at = std::partition_point(from, nodes.begin() + static_cast<std::ptrdiff_t>(end), before);
    for (std::uint64_t i = static_cast<std::uint64_t>(at - nodes.begin()); i < end; ++i) {
      if (nodes[i].first_ns > view_.shown.to_ns) break;
      visit(level, i, nodes[i]);
    }
    return true;
  }

  void visit(unsigned level, std::uint64_t i, const merged::Node& node) {
    float width = static_cast<float>((node.last_end_ns - node.first_ns) * x_of_.px_per_ns());
    bool fine = node.count > 1 && is_fine_enough(width);
    if (!fine && budget_.spent()) {
      budget_.leave_out();
      fine = true;
    }
    if (fine) return add(level, i, node);
    bool done = level == 0 ? leaf(i) : children(level - 1, i * merged::kFanOut, (i + 1) * merged::kFanOut);
    if (!done) add(level, i, node);
  }

  bool leaf(std::uint64_t i) {
    if (budget_.limited() && !reader_.leaves_ready(track_, i, i + 1)) {
      reader_.want_leaves(track_, i, i + 1);
      budget_.leave_out();
      return false;
    }
    std::array<merged::Event, merged::kLeafEvents> events;
    std::size_t count = reader_.leaf(track_, i, events);
    for (std::size_t k = 0; k < count; ++k) {
      const merged::Event& event = events[k];
      if (event.end_ns < view_.shown.from_ns || event.begin_ns > view_.shown.to_ns) continue;
      folder_.add({.left = x_of_(event.begin_ns),
                   .right = x_of_(event.end_ns),
                   .kind = event.kind,
                   .open = event.open,
                   .severity = event.severity,
                   .index = i * merged::kLeafEvents + k});
    }
    return true;
  }

  void add(unsigned level, std::uint64_t i, const merged::Node& node) {
    std::uint64_t events = merged::kLeafEvents;
    for (unsigned k = 0; k < level; ++k) events *= merged::kFanOut;
    folder_.add({.left = x_of_(node.first_ns),
                 .right = x_of_(node.last_end_ns),
                 .kind = static_cast<Kind>(node.dominant_kind),
                 .folded = true,
                 .severity = node.max_severity,
                 .covered = static_cast<float>(static_cast<double>(node.busy_ns) * x_of_.px_per_ns()),
                 .count = node.count,
                 .index = i * events});
  }

  const merged::Reader& reader_;
  std::uint32_t track_;
  const TimeView& view_;
  PixelOf x_of_;
  WalkBudget& budget_;
  Folder folder_;
};

}  // namespace

void walk_track(const merged::Reader& reader, std::uint32_t track, const TimeView& view, WalkBudget& budget,
                std::vector<Bar>& bars) {
  TrackWalk(reader, track, view, budget, bars).run();
}

merged::EventPlace event_at(const merged::Reader& reader, std::uint32_t track, std::int64_t t_ns,
                            std::int64_t slack_ns) {
  std::uint64_t count = reader.tracks()[track].events;
  std::uint64_t first = reader.first_ending_after(track, t_ns - slack_ns - 1);
  merged::EventPlace best;
  std::int64_t nearest = slack_ns + 1;
  for (std::uint64_t i = first; i < count && i < first + 64; ++i) {
    merged::Event event = reader.event({track, i});
    if (event.begin_ns > t_ns + slack_ns) break;
    std::int64_t apart = std::max({event.begin_ns - t_ns, t_ns - event.end_ns, std::int64_t{0}});
    if (apart < nearest) nearest = apart, best = {track, i};
    if (apart == 0) break;
  }
  return best;
}

}  // namespace ddpscope::viewer
