// What colours and patterns mean, under the lanes.
#include <algorithm>
#include <optional>
#include <tuple>

#include "viewer/panels/panel_frame.h"

namespace ddpscope::viewer {
namespace {

LegendEntry filled(const char* words, Colour Palette::*colour) {
  return {words,
          [colour](Canvas& canvas, const Box& swatch) { canvas.fill(swatch, canvas.colours().*colour); }};
}

// Bars that a finding's evidence is have a frame in its colour: in that of the chosen one, or else the worst.
std::optional<Severity> framed_severity(const merged::Reader& reader, std::uint32_t chosen) {
  const auto& all = reader.outcome().findings;
  for (std::size_t i : {static_cast<std::size_t>(chosen), std::size_t{0}})
    if (i < all.size() && all[i].severity != Severity::kInfo) return all[i].severity;
  return std::nullopt;
}

// A colour is one content, whatever the others of this legend are.
void add_batches(const Story& story, std::vector<LegendEntry>& entries) {
  bool samples = !story.sample_names.empty();
  entries.push_back({samples ? "sample, by its place" : "input batch, by its content",
                     [](Canvas& canvas, const Box& swatch) {
                       const auto& chips = canvas.colours().chips;
                       float part = swatch.width() / 3;
                       for (std::size_t i = 0; i < 3; ++i) {
                         float left = swatch.left + part * static_cast<float>(i);
                         canvas.fill({left, swatch.top, left + part - 1, swatch.bottom}, chips[i]);
                       }
                     }});
  bool more = std::ranges::any_of(story.lines, [&](const FileLine& line) {
    return std::ranges::any_of(line.accesses, [&](const StoryAccess& access) {
      return access.content >= std::tuple_size_v<decltype(Palette::chips)>;
    });
  });
  if (more)
    entries.push_back({samples ? "hatched: another sample" : "hatched: another content",
                       [](Canvas& canvas, const Box& swatch) {
                         const Palette& own = canvas.colours();
                         canvas.hatch(swatch, mixed(own.chips[0], own.chip_text, 0.45f), own.chips[0],
                                      canvas.px(7));
                       }});
}

// Lays the legend's entries out from left to right, in as many lines as they need.
class Legend {
 public:
  Legend(Canvas& canvas, const Box& box, float left, float right)
      : canvas_(canvas), box_(box), left_(left), right_(right), x_(left), y_(box.top) {}

  static float line_height(const Canvas& canvas) { return canvas.px(18); }

  void draw(const std::vector<LegendEntry>& entries) {
    for (const LegendEntry& each : entries) entry(each);
  }

  std::size_t lines() const { return lines_; }

 private:
  void entry(const LegendEntry& entry) {
    float width = canvas_.text_width(Face::kSmall, entry.words), line = line_height(canvas_);
    if (x_ + canvas_.px(28) + width > right_ && x_ > left_) x_ = left_, y_ += line, ++lines_;
    if (y_ + line <= box_.bottom + canvas_.px(1)) {
      float middle = y_ + line / 2, half = canvas_.px(4.5f);
      entry.draw_swatch(canvas_, {x_, middle - half, x_ + canvas_.px(18), middle + half});
      canvas_.text_in(Face::kSmall, {x_ + canvas_.px(24), y_, x_ + canvas_.px(28) + width, y_ + line},
                      canvas_.colours().text_mid, entry.words);
    }
    x_ += canvas_.px(36) + width;
  }

  Canvas& canvas_;
  Box box_;
  float left_, right_, x_, y_;
  std::size_t lines_ = 1;
};

constexpr float kLegendPad = 3;

}  // namespace

std::vector<LegendEntry> legend_entries(const merged::Reader& reader, const Story& story) {
  std::vector<LegendEntry> entries{
      filled("barrier", &Palette::barrier),
      filled("collective", &Palette::collective),
      filled("kernel", &Palette::backward),
      filled("optimizer", &Palette::optimizer),
      filled("host call", &Palette::forward),
      {"host waits",
       [](Canvas& canvas, const Box& swatch) {
         canvas.hatch(swatch, canvas.colours().wait_line, canvas.colours().wait_ground, canvas.px(6));
       }},
      filled("file read", &Palette::file_read),
      filled("file write", &Palette::file_write),
      filled("copy", &Palette::copy),
      {"missing call",
       [](Canvas& canvas, const Box& swatch) {
         canvas.dashed_frame(swatch, canvas.colours().error, canvas.px(1.2f));
       }},
      {"unordered",
       [](Canvas& canvas, const Box& swatch) {
         canvas.dashed_line({swatch.left, swatch.middle_y()}, {swatch.right, swatch.middle_y()},
                            canvas.colours().error, canvas.px(2), canvas.px(5), canvas.px(3));
       }},
      {"open, stat", [](Canvas& canvas, const Box& swatch) {
         canvas.fill({swatch.left + canvas.px(8), swatch.top, swatch.left + canvas.px(11), swatch.bottom},
                     canvas.colours().focus);
       }}};
  if (auto severity = framed_severity(reader, story.finding))
    entries.push_back({"evidence", [severity](Canvas& canvas, const Box& swatch) {
                         canvas.fill(swatch, canvas.colours().forward);
                         canvas.frame(swatch, colour_of(canvas.colours(), *severity), 0, canvas.px(1.5f));
                       }});
  if (story.lane == StoryLane::kBatches) add_batches(story, entries);
  return entries;
}

float legend_height(Canvas& canvas, const Box& plot, const std::vector<LegendEntry>& entries) {
  Legend legend(canvas, {0, 0, 0, -canvas.px(100)}, plot.left, plot.right);  // where nothing is drawn
  legend.draw(entries);
  return 2 * canvas.px(kLegendPad) + static_cast<float>(legend.lines()) * Legend::line_height(canvas);
}

namespace {

// Beside the legend: which rows are shown, if not all.
std::string rows_text(const State& state) {
  bool filtered = !state.row_filter.text.empty() && !state.row_filter.in_vain;
  std::string text = state.only_concerned ? "only this finding's ranks" : "";
  if (filtered) text += (text.empty() ? "only " : ", of them ") + state.row_filter.text;
  return text.empty() ? "Legend" : text;
}

}  // namespace

void draw_legend(PanelFrame& frame, const Box& box, const Box& plot) {
  const Palette& p = frame.colours();
  if (box.height() <= 0) return;
  draw_head(frame, box, plot, Face::kSmall, rows_text(frame.state));
  frame.on_click({box.left, box.top, plot.left, box.bottom}, ActionKind::kFilterRows);
  frame.canvas.line({box.left, box.top}, {box.right, box.top}, p.strong_line);
  Legend(frame.canvas, {box.left, box.top + frame.px(kLegendPad), box.right, box.bottom}, plot.left,
         box.right)
      .draw(legend_entries(frame.reader, frame.story));
}

}  // namespace ddpscope::viewer
