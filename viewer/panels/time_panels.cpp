// What stands over the lanes: the whole run, the ruler, the flags of findings.
#include <fmt/format.h>

#include <algorithm>

#include "viewer/draw/stacks.h"
#include "viewer/panels/panel_frame.h"
#include "viewer/view/glyph_row.h"

namespace ddpscope::viewer {

void draw_head(PanelFrame& frame, const Box& box, const Box& plot, Face face, const std::string& text) {
  const Palette& p = frame.colours();
  frame.canvas.fill(box, p.pane);
  frame.canvas.text_in(face, {box.left + frame.px(12), box.top, plot.left - frame.px(8), box.bottom},
                       p.text_mid, text);
  frame.canvas.line({box.left, box.bottom - 1}, {box.right, box.bottom - 1}, p.line);
}

namespace {

TimeView whole_run(const PanelFrame& frame, const Box& plot) {
  return {{0, std::max<std::int64_t>(frame.reader.job().duration_ns, 1)}, plot.left, plot.width()};
}

// What all ranks do, column by column: computing, communicating, files, waiting.
void draw_run(PanelFrame& frame, const Box& strip) {
  const Palette& p = frame.colours();
  std::uint32_t count = frame.reader.columns();
  if (count == 0) return;
  auto ranks = static_cast<float>(std::max(frame.reader.job().ranks, 1)) * 256;
  const std::pair<merged::Activity, Colour> stack[] = {
      {merged::Activity::kFileWrite, p.file_write},
      {merged::Activity::kFileRead, p.file_read},
      {merged::Activity::kCollective, p.collective},
      {merged::Activity::kCompute, p.backward},
      {merged::Activity::kCopy, p.copy},
      {merged::Activity::kWaiting, mixed(p.wait_ground, p.wait_line, 0.5f)}};
  draw_stacks(frame.canvas, strip, 2, [&](float x, std::vector<StackPart>& parts) {
    double part = (x - strip.left) / strip.width(), next = (x + 2 - strip.left) / strip.width();
    auto first = static_cast<std::uint32_t>(part * count);
    auto last = std::clamp(static_cast<std::uint32_t>(next * count), first + 1, std::max(count, first + 1));
    for (auto [activity, colour] : stack) {
      auto values = frame.reader.ranks_in(activity);
      float sum = 0;
      for (std::uint32_t c = first; c < std::min<std::size_t>(last, values.size()); ++c)
        sum += static_cast<float>(values[c]);
      float height = sum / static_cast<float>(last - first) / ranks * strip.height();
      if (height >= 0.4f) parts.push_back({height, with_alpha(colour, 0.8f)});
    }
  });
}

std::vector<Glyph> finding_glyphs(const PanelFrame& frame, const TimeView& view, float left, float right) {
  std::vector<Glyph> glyphs;
  const auto& all = frame.reader.outcome().findings;
  for (std::size_t i = 0; i < all.size(); ++i) {
    float x = view.x_of(all[i].first_ns);
    if (x >= left && x <= right) glyphs.push_back({x, static_cast<int>(all[i].severity), i});
  }
  return glyphs;
}

}  // namespace

void draw_minimap(PanelFrame& frame, const Box& box, const Box& plot) {
  const Palette& p = frame.colours();
  frame.canvas.fill(box, p.pane);
  frame.canvas.text(Face::kStrong, {box.left + frame.px(12), box.top + frame.px(9)}, p.text, "Whole run");
  std::int64_t run = frame.reader.job().duration_ns;
  frame.canvas.text(Face::kMonoSmall, {box.left + frame.px(12), box.top + frame.px(27)}, p.text_low,
                    "0 – " + duration_text(run));
  TimeView view = whole_run(frame, plot);
  Box strip{plot.left, box.top + frame.px(18), plot.right, box.bottom - frame.px(8)};
  frame.canvas.fill(strip, p.window);
  draw_run(frame, strip);
  // The window that the lanes show; never too narrow to be found.
  float left = std::clamp(view.x_of(frame.state.shown.from_ns), strip.left, strip.right);
  float right = std::clamp(view.x_of(frame.state.shown.to_ns), strip.left, strip.right);
  if (right - left < frame.px(6)) {
    float middle = std::clamp((left + right) / 2, strip.left + frame.px(3), strip.right - frame.px(3));
    left = middle - frame.px(3), right = middle + frame.px(3);
  }
  Box window{left, strip.top - frame.px(2), right, strip.bottom + frame.px(2)};
  frame.canvas.fill(window, with_alpha(p.focus, 0.10f));
  frame.canvas.frame(window, p.focus, frame.px(2), std::max(1.0f, frame.px(1.2f)));
  for (const PlacedGlyph& glyph :
       placed_glyphs(finding_glyphs(frame, view, strip.left, strip.right), frame.px(13))) {
    const findings::Finding& finding = frame.reader.outcome().findings[glyph.item];
    float y = box.top + frame.px(9);
    frame.canvas.line({glyph.true_x, strip.top}, {glyph.true_x, strip.bottom}, colour_of(p, finding.severity),
                      frame.px(1));
    draw_severity(frame.canvas, {glyph.x, y}, frame.px(11), finding.severity, finding.confidence);
    if (glyph.count > 1)
      frame.canvas.text(Face::kSmall, {glyph.x + frame.px(8), y - frame.px(7)}, p.text_mid,
                        fmt::format("{}", glyph.count));
    frame.on_click({glyph.x - frame.px(7), y - frame.px(8), glyph.x + frame.px(7), y + frame.px(8)},
                   ActionKind::kChooseFinding, glyph.item);
  }
  frame.canvas.line({box.left, box.bottom - 1}, {box.right, box.bottom - 1}, p.line);
}

void draw_ruler(PanelFrame& frame, const Box& box, const TimeView& view) {
  const Palette& p = frame.colours();
  Box plot{view.left, box.top, view.right(), box.bottom};
  draw_head(frame, box, plot, Face::kMonoSmall,
            fmt::format("t, {} shown", duration_text(view.shown.length())));
  for (const Tick& tick : ruler_ticks(view, frame.px(104))) {
    float x = view.x_of(tick.t_ns);
    frame.canvas.line({x, box.bottom - frame.px(tick.major ? 9 : 4)}, {x, box.bottom},
                      tick.major ? p.strong_line : p.line);
    if (tick.major && x + frame.px(60) < box.right)
      frame.canvas.text_in(Face::kMonoSmall, {x + frame.px(5), box.top, box.right, box.bottom}, p.text_low,
                           tick.label);
  }
}

void draw_flags(PanelFrame& frame, const Box& box, const TimeView& view) {
  const Palette& p = frame.colours();
  Box plot{view.left, box.top, view.right(), box.bottom};
  draw_head(frame, box, plot, Face::kSmall, "Findings here");
  frame.canvas.push_clip(plot);
  const auto& all = frame.reader.outcome().findings;
  // Longer than a moment: a band from first to last.
  if (frame.state.finding < all.size()) {
    const findings::Finding& chosen = all[frame.state.finding];
    float from = std::max(view.x_of(chosen.first_ns), plot.left),
          to = std::min(view.x_of(chosen.last_ns), plot.right);
    if (to - from > frame.px(4))
      frame.canvas.fill({from, box.top + frame.px(4), to, box.bottom - frame.px(4)},
                        ground_of(p, chosen.severity));
    if (chosen.first_ns < view.shown.from_ns && chosen.last_ns > view.shown.from_ns) {
      Box own{plot.left + frame.px(6), box.top, plot.right, box.bottom};
      draw_severity(frame.canvas, {own.left + frame.px(6), box.middle_y()}, frame.px(11), chosen.severity,
                    chosen.confidence);
      std::string text = chosen.slug + "  since " + time_text(chosen.first_ns, 1'000'000);
      frame.canvas.text_in(Face::kMonoSmall, {own.left + frame.px(18), own.top, own.right, own.bottom},
                           colour_of(p, chosen.severity), text);
    }
  }
  auto placed = placed_glyphs(finding_glyphs(frame, view, plot.left, plot.right), frame.px(14));
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const PlacedGlyph& glyph = placed[i];
    const findings::Finding& finding = all[glyph.item];
    Colour colour = colour_of(p, finding.severity);
    frame.canvas.line({glyph.true_x, box.top + frame.px(2)}, {glyph.true_x, box.bottom}, colour, frame.px(2));
    std::string text = glyph.count > 1 ? fmt::format("{} findings", glyph.count) : finding.slug;
    float room = (i + 1 < placed.size() ? placed[i + 1].x : plot.right) - glyph.x - frame.px(8);
    float width = frame.canvas.text_width(Face::kMonoSmall, text) + frame.px(24);
    Box flag{glyph.x + frame.px(2), box.top + frame.px(4),
             glyph.x + frame.px(2) + std::min(width, std::max(room, frame.px(16))), box.bottom - frame.px(4)};
    frame.canvas.fill(flag, ground_of(p, finding.severity));
    draw_severity(frame.canvas, {flag.left + frame.px(9), box.middle_y()}, frame.px(11), finding.severity,
                  finding.confidence);
    frame.canvas.text_in(Face::kMonoSmall, {flag.left + frame.px(18), flag.top, flag.right, flag.bottom},
                         colour, text);
    frame.on_click(flag, ActionKind::kChooseFinding, glyph.item);
  }
  frame.canvas.pop_clip();
}

}  // namespace ddpscope::viewer
