// The chosen finding's own lane: a file and who did what with it, batches side by side, reductions that were
// in vain.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "viewer/lanes/lane_frame.h"
#include "viewer/story/batch_colours.h"

namespace ddpscope::viewer {
namespace {

constexpr float kStoryTop = 7;
constexpr float kNumbers = 26;  // px at scale 1, of the ranks' numbers beside the plot

std::int32_t rank_of(const LaneFrame& frame, std::uint32_t row) { return frame.reader.ranks()[row].rank; }

float squeeze_of(const LaneFrame& frame, const Box& box) {
  return lane_squeeze(frame.story, box.height() / frame.px(1));
}

// One rank's part of a file: where it is in use is thinly filled, accesses are solid.
void draw_file_line(LaneFrame& frame, const FileLine& line, const Box& box) {
  const Palette& p = frame.colours();
  Colour colour = line.writes ? p.file_write : p.file_read;
  float last_right = 0;
  bool in_use = false;
  for (const StoryAccess& event : line.accesses) {
    float left = std::clamp(frame.x_of(event.begin_ns), frame.plot.left - 50, frame.plot.right + 50);
    float right = std::clamp(frame.x_of(event.end_ns), frame.plot.left - 50, frame.plot.right + 50);
    bool opens = event.kind == Kind::kTick;
    if (in_use && left > last_right)
      frame.canvas.fill({last_right, box.top + frame.px(3), left, box.bottom - frame.px(3)},
                        with_alpha(colour, 0.30f));
    Colour own = event.kind == Kind::kFileWrite ? p.file_write : p.file_read;
    if (opens) {  // a moment; if it took long, that is seen, too
      frame.canvas.fill({left, box.top + frame.px(3), right, box.bottom - frame.px(3)},
                        with_alpha(colour, 0.30f));
      frame.canvas.fill({left, box.top, left + frame.px(2.5f), box.bottom}, p.focus);
    } else {
      frame.canvas.fill({left, box.top, std::max(right, left + frame.px(3)), box.bottom}, own);
    }
    last_right = std::max(right, left + frame.px(2));
    in_use = event.leaves_open;
  }
}

std::string digest_text(std::uint64_t digest) { return fmt::format("{:04x}", digest >> 48); }

struct Chip {
  float left, right;
  std::uint64_t digest;
  std::uint32_t content;
};

std::vector<Chip> chips_of(LaneFrame& frame, const FileLine& line) {
  std::vector<Chip> chips;
  for (std::size_t i = 0; i < line.accesses.size(); ++i) {
    float left = frame.x_of(line.accesses[i].begin_ns);
    // A batch is what the rank works on until the next comes.
    float right = i + 1 < line.accesses.size()
                      ? frame.x_of(line.accesses[i + 1].begin_ns)
                      : std::max(left + frame.px(60), frame.x_of(line.accesses[i].end_ns));
    bool seen = right >= frame.plot.left && left <= frame.plot.right;
    chips.push_back({left, seen ? std::max(right - frame.px(2), left + 1) : right, line.accesses[i].digest,
                     line.accesses[i].content});
  }
  return chips;
}

// Of a sample its name, of which the end tells most: "…0053.raw".
std::string chip_text(const LaneFrame& frame, const Chip& chip, float width) {
  auto named = frame.story.sample_names.find(chip.digest);
  std::string text = named == frame.story.sample_names.end() ? digest_text(chip.digest) : named->second;
  return cut_in_front(frame.canvas, Face::kMonoSmall, text, width);
}

// The palette's colours, then these hatched; beyond, none: the text tells.
void draw_chips(LaneFrame& frame, const std::vector<Chip>& chips, const Box& box,
                const std::map<std::uint32_t, std::size_t>& colours) {
  const Palette& p = frame.colours();
  for (const Chip& chip : chips) {
    if (chip.right < frame.plot.left || chip.left > frame.plot.right) continue;
    Box own{chip.left, box.top, chip.right, box.bottom};
    auto given = colours.find(chip.content);
    bool coloured = given != colours.end(), hatched = coloured && given->second >= p.chips.size();
    Colour colour = coloured ? p.chips[given->second % p.chips.size()] : p.selected;
    frame.canvas.fill(own, colour, own.width() > frame.px(8) ? frame.px(3) : 0);
    if (hatched && frame.canvas.hatches(own))
      frame.canvas.hatch(own, mixed(colour, p.chip_text, 0.45f), colour, frame.px(7));
    if (own.width() <= frame.px(30)) continue;
    std::string text = chip_text(frame, chip, own.width() - frame.px(6));
    float width = frame.canvas.text_width(Face::kMonoSmall, text) + frame.px(6);
    if (hatched)  // on lines a text needs ground of its own
      frame.canvas.fill({(own.left + own.right - width) / 2, own.top + 1, (own.left + own.right + width) / 2,
                         own.bottom - 1},
                        colour);
    frame.canvas.text_centred(Face::kMonoSmall, own, coloured ? p.chip_text : p.text, text);
  }
}

// Between two ranks' chips: an equals sign where the two have the same content.
void draw_equal_strip(LaneFrame& frame, const std::vector<Chip>& upper, const std::vector<Chip>& lower,
                      const Box& box) {
  Severity severity = frame.reader.outcome().findings[frame.story.finding].severity;
  Colour colour = colour_of(frame.colours(), severity);
  frame.canvas.fill(box, with_alpha(ground_of(frame.colours(), severity), 0.9f));
  for (std::size_t i = 0; i < std::min(upper.size(), lower.size()); ++i) {
    float middle = (std::max(upper[i].left, lower[i].left) + std::min(upper[i].right, lower[i].right)) / 2;
    bool narrow =
        std::min(upper[i].right, lower[i].right) - std::max(upper[i].left, lower[i].left) < frame.px(8);
    if (narrow || upper[i].digest != lower[i].digest || middle < frame.plot.left || middle > frame.plot.right)
      continue;
    float half = std::min(frame.px(7), (upper[i].right - upper[i].left) / 3);
    float y = box.middle_y(), outer = std::min(frame.px(4), box.height() / 2 - 1), inner = outer * 0.375f;
    frame.canvas.fill({middle - half, y - outer, middle + half, y - inner}, colour);
    frame.canvas.fill({middle - half, y + inner, middle + half, y + outer}, colour);
  }
}

}  // namespace

void draw_file_lane(LaneFrame& frame, const Box& box) {
  const Palette& p = frame.colours();
  const auto& lines = frame.story.lines;
  auto writers = std::count_if(lines.begin(), lines.end(), [](const FileLine& line) { return line.writes; });
  std::string who = writers > 0
                        ? fmt::format("{} {} it", writers, writers == 1 ? "rank writes" : "ranks write")
                        : fmt::format("{} it", lines.size() == 1 ? "1 rank uses"
                                                                 : fmt::format("{} ranks use", lines.size()));
  std::string title(base_name(frame.story.file));
  if (frame.story.several_files()) {
    std::set<std::string> files;
    for (const FileLine& line : lines) files.insert(line.file);
    title = fmt::format("{} files", files.size());
    who = "of each rank its own";
  }
  draw_gutter(frame, box, {{Face::kStrong, p.text, title}, {Face::kSmall, p.text_low, who}}, kNumbers);
  std::size_t shown = std::min<std::size_t>(lines.size(), kMostFileLines);
  float lower = squeeze_of(frame, box);
  for (std::size_t i = 0; i < shown; ++i) {
    const FileLine& line = lines[i];
    float middle = box.top + frame.px(file_line_middle(i)) * lower, half = frame.px(8) * lower;
    Box own{frame.plot.left, middle - half, frame.plot.right, middle + half};
    frame.canvas.text_in_right(
        Face::kMonoSmall,
        {frame.plot.left - frame.px(40), own.top, frame.plot.left - frame.px(10), own.bottom}, p.text_low,
        fmt::format("{}", rank_of(frame, line.rank_row)));
    frame.canvas.push_clip(
        {frame.plot.left, own.top - frame.px(2), frame.plot.right, own.bottom + frame.px(4)});
    frame.canvas.line({frame.plot.left, own.bottom + frame.px(2)},
                      {frame.plot.right, own.bottom + frame.px(2)}, p.grid);
    draw_file_line(frame, line, own);
    frame.canvas.pop_clip();
  }
  for (const StoryArrow& arrow : frame.story.arrows) {
    if (arrow.lines.size() < 2) continue;
    float y = box.bottom - frame.px(24);
    Colour colour = arrow.kind == ArrowKind::kByLuck ? p.warning : p.error;
    Box room{frame.plot.left + frame.px(12), y, frame.plot.right, y + frame.px(18)};
    room.left += frame.canvas.text_in(Face::kStrong, room, colour, arrow.lines[0] + ":") + frame.px(8);
    frame.canvas.text_in(Face::kBody, room, p.text, arrow.lines[1]);
  }
}

void draw_batches_lane(LaneFrame& frame, const Box& box) {
  const Palette& p = frame.colours();
  bool passes = !frame.story.lines.front().does.empty(), samples = !frame.story.sample_names.empty();
  Severity severity = frame.reader.outcome().findings[frame.story.finding].severity;
  std::string of = passes ? fmt::format("of rank {}", rank_of(frame, frame.story.lines.front().rank_row))
                          : "colour and hex:";
  draw_gutter(frame, box,
              {{Face::kStrong, p.text, samples ? "samples read" : "input batches"},
               {Face::kSmall, p.text_low, samples ? "one after the other," : of},
               {Face::kSmall, p.text_low, samples ? "not by time" : "digest of the bytes"},
               {Face::kSmall, colour_of(p, severity),
                passes    ? "= as a pass earlier"
                : samples ? "= the same sample"
                          : "= equal on both ranks"}});
  auto colours = colours_of_batches(frame.story.lines, frame.view.shown, 2 * p.chips.size());
  std::vector<Chip> above;
  float lower = squeeze_of(frame, box), y = box.top + frame.px(kStoryTop) * lower;
  for (std::size_t i = 0; i < frame.story.lines.size(); ++i) {
    std::vector<Chip> chips = chips_of(frame, frame.story.lines[i]);
    if (i > 0) {
      draw_equal_strip(frame, above, chips, {frame.plot.left, y, frame.plot.right, y + frame.px(14) * lower});
      y += frame.px(16) * lower;
    }
    Box own{frame.plot.left, y, frame.plot.right, y + frame.px(24) * lower};
    frame.canvas.text_in_right(
        Face::kSmall, {frame.gutter_left, own.top, frame.plot.left - frame.px(10), own.bottom}, p.text_mid,
        passes ? frame.story.lines[i].does
               : fmt::format("rank {}", rank_of(frame, frame.story.lines[i].rank_row)));
    frame.canvas.push_clip(own);
    draw_chips(frame, chips, own, colours);
    frame.canvas.pop_clip();
    above = std::move(chips);
    y += frame.px(28) * lower;
  }
}

namespace {

// `room`: up to the neighbours' texts.
void draw_bracket(LaneFrame& frame, const SyncSet& set, std::size_t number, const Box& box, float room) {
  const Palette& p = frame.colours();
  if (set.to_ns < frame.view.shown.from_ns || set.from_ns > frame.view.shown.to_ns) return;
  Colour colour = set.needed ? p.good : p.warning;
  float left = frame.x_of(set.from_ns), right = std::max(frame.x_of(set.to_ns), left + frame.px(20));
  float top = box.top + frame.px(8), bar = frame.px(22);
  Box own{left, top, right, top + bar};
  if (set.needed) {
    frame.canvas.fill(own, with_alpha(p.collective, 0.75f));
  } else {
    frame.canvas.hatch(own, p.warning, p.warning_ground, frame.px(7));
    frame.canvas.frame(own, p.warning, 0, frame.px(1.5f));
  }
  float y = own.bottom + frame.px(5);
  frame.canvas.polyline({{left, y - frame.px(3)}, {left, y}, {right, y}, {right, y - frame.px(3)}}, colour,
                        frame.px(1.5f));
  std::string title = fmt::format("sync {} {}", number, set.needed ? "needed" : "in vain");
  std::uint64_t calls = set.end - set.first;
  std::string more = set.needed
                         ? "right before the optimizer"
                         : fmt::format("{} {}, summed again by the next", calls, plural(calls, "call"));
  float middle = (left + right) / 2;
  for (auto [face, words, text, down] : {std::tuple{Face::kStrong, &title, colour, 2.0f},
                                         std::tuple{Face::kSmall, &more, p.text_mid, 18.0f}}) {
    float half = frame.canvas.text_width(face, *words) / 2 + 2;
    if (2 * half > room) continue;
    frame.canvas.text_centred(
        face, {middle - half, y + frame.px(down), middle + half, y + frame.px(down + 15)}, text, *words);
  }
}

}  // namespace

void draw_syncs_lane(LaneFrame& frame, const Box& box) {
  const Palette& p = frame.colours();
  std::size_t in_vain = frame.story.syncs.empty() ? 0 : frame.story.syncs.size() - 1;
  draw_gutter(
      frame, box,
      {{Face::kStrong, p.text, "gradient syncs"},
       {Face::kSmall, p.text_low, "of one optimizer step:"},
       {Face::kSmall, p.warning, fmt::format("{} of {} in vain", in_vain, frame.story.syncs.size())}});
  const std::vector<SyncSet>& syncs = frame.story.syncs;
  auto middle = [&](std::size_t i) {
    return (frame.x_of(syncs[i].from_ns) + frame.x_of(syncs[i].to_ns)) / 2;
  };
  for (std::size_t i = 0; i < syncs.size(); ++i) {
    float room = frame.plot.width();
    if (i > 0) room = std::min(room, middle(i) - middle(i - 1));
    if (i + 1 < syncs.size()) room = std::min(room, middle(i + 1) - middle(i));
    draw_bracket(frame, syncs[i], i + 1, box, room - frame.px(8));
  }
}

// A hole where something should be.
void draw_absence_lane(LaneFrame& frame, const Box& box) {
  const Palette& p = frame.colours();
  const StoryAbsence& absence = frame.story.absence;
  Severity severity = frame.reader.outcome().findings[frame.story.finding].severity;
  draw_gutter(
      frame, box,
      {{Face::kStrong, p.text, absence.title}, {Face::kSmall, colour_of(p, severity), absence.which}});
  Box hole{std::max(frame.x_of(absence.span.from_ns), frame.plot.left - 9), box.top + frame.px(12),
           std::min(frame.x_of(absence.span.to_ns), frame.plot.right + 9), box.bottom - frame.px(14)};
  hole.right = std::max(hole.right, hole.left + frame.px(8));
  frame.canvas.push_clip({frame.plot.left, box.top, frame.plot.right, box.bottom});
  frame.canvas.fill(hole, with_alpha(ground_of(p, severity), 0.9f));
  frame.canvas.dashed_frame(hole, colour_of(p, severity), frame.px(1.5f));
  Box words{std::max(hole.left, frame.plot.left) + frame.px(10), hole.top,
            std::min(hole.right, frame.plot.right) - frame.px(10), hole.bottom};
  // Beside a hole that is too narrow.
  float width = frame.canvas.text_width(Face::kStrong, absence.words);
  bool fits = width <= words.width();
  if (!fits && words.left + width > frame.plot.right)
    words = {hole.left - frame.px(8) - width, hole.top, hole.left - frame.px(8), hole.bottom};
  else if (!fits)
    words = {hole.right + frame.px(8), hole.top, frame.plot.right, hole.bottom};
  frame.canvas.text_in(Face::kStrong, words, colour_of(p, severity), absence.words);
  frame.canvas.pop_clip();
}

void draw_story_row(LaneFrame& frame, const Box& box) {
  const Palette& p = frame.colours();
  frame.canvas.fill(box, p.lane_even);
  frame.canvas.fill({frame.gutter_left, box.top, frame.gutter_left + frame.px(3), box.bottom},
                    colour_of(p, frame.reader.outcome().findings[frame.story.finding].severity));
  frame.canvas.line({frame.gutter_left, box.bottom - 1}, {frame.plot.right, box.bottom - 1}, p.strong_line);
  frame.canvas.push_clip({frame.gutter_left, std::max(box.top, frame.plot.top), frame.plot.right,
                          std::min(box.bottom, frame.plot.bottom)});
  switch (frame.story.lane) {
    case StoryLane::kFile:
      draw_file_lane(frame, box);
      break;
    case StoryLane::kBatches:
      draw_batches_lane(frame, box);
      break;
    case StoryLane::kSyncs:
      draw_syncs_lane(frame, box);
      break;
    case StoryLane::kAbsence:
      draw_absence_lane(frame, box);
      break;
    case StoryLane::kNone:
      break;
  }
  frame.canvas.pop_clip();
}

}  // namespace ddpscope::viewer
