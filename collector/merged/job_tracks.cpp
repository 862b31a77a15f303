// Lanes to tracks, frames to lines, and steps.
#include "collector/merged/job_tracks.h"

#include <fmt/format.h>

#include <algorithm>

#include "collector/patterns/called_steps.h"
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

namespace {

struct Span {
  std::int64_t begin_ns, end_ns;
};

std::vector<Span> spans_of(const patterns::RankSteps& found) {
  std::vector<Span> steps;
  for (const auto* of : {&found.steps, &found.unreduced})
    for (const patterns::Step& step : *of) steps.push_back({step.begin_ns, step.end_ns});
  std::ranges::stable_sort(steps, {}, &Span::begin_ns);
  return steps;
}

}  // namespace

void write_steps(Making& making, std::uint32_t process, LaneTracks& tracks) {
  const auto& [job, collectives, barriers] = making.facts;
  std::vector<Span> steps = spans_of(patterns::find_steps(job, collectives, process));
  if (steps.empty()) steps = spans_of(patterns::find_called_steps(job, collectives, process));
  std::uint32_t name = making.writer.name("step", Kind::kStep);
  StepSlot slot{};
  for (const Span& step : steps) {
    Event event;
    event.begin_ns = step.begin_ns;
    event.end_ns = std::max(step.end_ns, step.begin_ns);
    event.name = name;
    tracks.add(TrackKind::kSteps, 0, event, slot_of(slot), [] { return std::string("steps"); });
    ++slot.number;
  }
}

}  // namespace ddpscope::merged
