// Lanes to tracks, frames to lines, and steps.
#include "collector/merged/job_tracks.h"

#include <fmt/format.h>

#include <algorithm>

#include "collector/patterns/training_steps.h"

namespace ddpscope::merged {

std::vector<std::string> FrameLines::of(const trace::TraceFile& file, std::uint32_t stack) {
  std::vector<std::string> lines;
  for (const trace::StackFrame& frame : file.stack(stack)) {
    std::string source(file.string(frame.file)), function(file.string(frame.function));
    if (frame.kind == trace::FrameKind::kPython) {
      lines.push_back(fmt::format("{}:{} {}", source, frame.line, function));
      continue;
    }
    auto [known, fresh] = known_.try_emplace({source, function, frame.address});
    if (fresh) known->second = native_.at(source, function, frame.address);
    lines.insert(lines.end(), known->second.begin(), known->second.end());
  }
  return lines;
}

std::uint32_t LaneTracks::open(TrackKind kind, std::uint64_t lane, std::size_t depth, std::string label) {
  Track track;
  track.rank_row = rank_row_;
  track.kind = kind;
  track.depth = static_cast<std::uint16_t>(depth);
  track.lane = lane;
  track.process = process_;
  track.label = std::move(label);
  return making_.writer.open_track(std::move(track));
}

void write_steps(Making& making, std::uint32_t process, LaneTracks& tracks) {
  patterns::RankSteps found = patterns::find_steps(making.facts.job, making.facts.collectives, process);
  std::vector<patterns::Step> steps = std::move(found.steps);
  steps.insert(steps.end(), found.unreduced.begin(), found.unreduced.end());
  std::stable_sort(steps.begin(), steps.end(),
                   [](const patterns::Step& a, const patterns::Step& b) { return a.begin_ns < b.begin_ns; });
  std::uint32_t name = making.writer.name("step", Kind::kStep);
  StepSlot slot{};
  for (const patterns::Step& step : steps) {
    Event event;
    event.begin_ns = step.begin_ns;
    event.end_ns = std::max(step.end_ns, step.begin_ns);
    event.name = name;
    tracks.add(TrackKind::kSteps, 0, event, slot_of(slot), [] { return std::string("steps"); });
    ++slot.number;
  }
}

}  // namespace ddpscope::merged
