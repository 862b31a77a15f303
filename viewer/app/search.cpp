// Search and filter: the two fields that take text, and what is found.
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>

#include "viewer/app/app.h"

namespace ddpscope::viewer {
namespace {

constexpr std::size_t kMostHits = 200, kMostNames = 40;

// A field of text at a fixed place, in the theme's colours. True while it is typed in.
bool text_field(const Canvas& canvas, const char* id, const Box& box, std::string& text, bool take_focus) {
  const Palette& p = canvas.colours();
  ImGui::SetNextWindowPos({box.left, box.top});
  ImGui::SetNextWindowSize({box.width(), box.height()});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {canvas.px(8), 0});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowMinSize, {1, 1});
  ImGui::PushStyleColor(ImGuiCol_Text, p.text);
  ImGui::PushStyleColor(ImGuiCol_FrameBg, with_alpha(p.window, 0));
  ImGui::PushFont(canvas.theme().fonts[Face::kSmall]);
  ImGui::Begin(id, nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoBackground |
                   ImGuiWindowFlags_NoSavedSettings);
  if (take_focus) ImGui::SetKeyboardFocusHere();
  ImGui::SetCursorPosY((box.height() - ImGui::GetFrameHeight()) / 2);
  ImGui::SetNextItemWidth(box.width() - canvas.px(16));
  ImGui::InputText("##text", &text);
  bool active = ImGui::IsItemActive();
  ImGui::End();
  ImGui::PopFont();
  ImGui::PopStyleColor(2);
  ImGui::PopStyleVar(3);
  return active;
}

}  // namespace

void App::draw_text_fields(const Canvas& canvas) {
  Box filter{panes_.list.left + canvas.px(14), panes_.list.top + canvas.px(40),
             panes_.list.right - canvas.px(14), panes_.list.top + canvas.px(64)};
  text_field(canvas, "filter", filter, state_.filter, false);
  if (!state_.search.open) return;
  text_field(canvas, "search", search_box(canvas, panes_), state_.search.text, state_.search.take_focus);
  state_.search.take_focus = false;
  if (state_.search.text != state_.search.searched) run_search();
}

void App::run_search() {
  Search& search = state_.search;
  search.searched = search.text;
  search.hits.clear();
  search.chosen = 0;
  if (search.text.empty()) return;
  for (std::uint32_t i : listed_findings(reader_, search.text))
    search.hits.push_back(
        {SearchHit::What::kFinding, i, 0, 0, "finding  " + reader_.outcome().findings[i].slug});
  for (std::uint32_t i = 0; i < reader_.ranks().size() && search.hits.size() < kMostHits; ++i) {
    std::string name = fmt::format("rank {}", reader_.ranks()[i].rank);
    if (name == search.text || fmt::format("{}", reader_.ranks()[i].rank) == search.text)
      search.hits.push_back({SearchHit::What::kRank, i, i, 0, name});
  }
  auto names = reader_.find_names(search.text);
  if (names.size() > kMostNames) names.resize(kMostNames);
  for (std::uint32_t name : names)
    for (std::uint32_t row = 0; row < reader_.ranks().size() && search.hits.size() < kMostHits; ++row) {
      const merged::RankRow& rank = reader_.ranks()[row];
      std::uint64_t count = 0;
      for (std::uint32_t track = rank.first_track; track < rank.first_track + rank.tracks; ++track)
        for (const merged::NameCount& on : reader_.names_on(track))
          if (on.name == name) count += on.count;
      if (count > 0)
        search.hits.push_back({SearchHit::What::kCall, name, row, count,
                               fmt::format("{}  rank {}", reader_.names()[name].text, rank.rank)});
    }
}

}  // namespace ddpscope::viewer
