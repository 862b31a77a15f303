// The page of a finding, as `ddpscope explain` prints it, beside the lanes.
#include <algorithm>

#include "collector/findings/catalogue.h"
#include "viewer/panels/panel_frame.h"

namespace ddpscope::viewer {
namespace {

struct Paragraph {
  Face face = Face::kBody;
  float indent = 0;  // px at scale 1
  std::string text;
};

// Markdown as far as the pages use it: headings, paragraphs, lists, code.
std::vector<Paragraph> paragraphs_of(std::string_view page) {
  std::vector<Paragraph> all;
  bool code = false, open = false;
  while (!page.empty()) {
    std::size_t end = std::min(page.find('\n'), page.size());
    std::string_view line = page.substr(0, end);
    page.remove_prefix(std::min(end + 1, page.size()));
    if (line.starts_with("```")) {
      code = !code, open = false;
    } else if (code) {
      all.push_back({Face::kMonoSmall, 12, std::string(line)});
    } else if (line.empty()) {
      open = false;
    } else if (line.starts_with("#")) {
      std::string_view words = line.substr(std::min(line.find_first_not_of("# "), line.size()));
      all.push_back({line.starts_with("##") ? Face::kStrong : Face::kTitle, 0, std::string(words)});
      open = false;
    } else if (line.starts_with("- ") || line.starts_with("| ")) {
      all.push_back({line.starts_with("|") ? Face::kMonoSmall : Face::kBody, 12, std::string(line)});
      open = line.starts_with("- ");
    } else if (open) {
      all.back().text += " " + std::string(line.substr(std::min(line.find_first_not_of(' '), line.size())));
    } else {
      all.push_back({Face::kBody, 0, std::string(line)});
      open = true;
    }
  }
  return all;
}

}  // namespace

float draw_explain_page(PanelFrame& frame, const Box& box, std::string_view slug) {
  const Palette& p = frame.colours();
  frame.canvas.fill(box, p.raised);
  frame.canvas.frame(box, p.strong_line);
  frame.canvas.push_clip(box.inset(1));
  float left = box.left + frame.px(28), right = box.right - frame.px(28);
  float start = box.top + frame.px(20) - frame.state.page_scroll, y = start;
  for (const Paragraph& paragraph : paragraphs_of(findings::page_of(slug))) {
    bool heading = paragraph.face == Face::kStrong || paragraph.face == Face::kTitle;
    float line = frame.canvas.line_height(paragraph.face) + frame.px(2), indent = frame.px(paragraph.indent);
    if (heading) y += frame.px(10);
    for (const std::string& words :
         wrapped(frame.canvas, paragraph.face, paragraph.text, right - left - indent, 200)) {
      if (y > box.top - line && y < box.bottom)
        frame.canvas.text(paragraph.face, {left + indent, y}, heading ? p.text : p.text_mid, words);
      y += line;
    }
    y += frame.px(5);
  }
  frame.canvas.pop_clip();
  return y - start + frame.px(40);
}

}  // namespace ddpscope::viewer
