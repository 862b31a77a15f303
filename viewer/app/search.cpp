// The fields that take text: search, filter and a bookmark's note; and what is found.
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <map>

#include "viewer/app/app.h"

namespace ddpscope::viewer {
namespace {

constexpr std::size_t kMostNames = 40;

// Before the field is drawn, which throws away what is typed in the frame in which it gets the keyboard. The
// key that asks for it is a character, too: that one is not for it.
void keep_what_is_typed(TextFocus& focus) {
  using Stage = TextFocus::Stage;
  ImGuiIO& io = ImGui::GetIO();
  if (focus.stage == Stage::kComing || focus.stage == Stage::kHas)
    focus.typed.insert(focus.typed.end(), io.InputQueueCharacters.begin(), io.InputQueueCharacters.end());
  if (focus.stage != Stage::kHas) return;
  io.ClearInputCharacters();
  for (std::uint32_t character : focus.typed) io.AddInputCharacter(character);
  focus = {};
}

// After it was drawn.
void follow(TextFocus& focus, bool active) {
  using Stage = TextFocus::Stage;
  if (focus.stage == Stage::kAsked) focus.stage = Stage::kComing;
  if (focus.waits() && active) focus.stage = Stage::kHas;
}

// A field of text at a fixed place, in the theme's colours. True when Enter ends what is typed.
bool text_field(const Canvas& canvas, const char* id, const Box& box, std::string& text, TextFocus* focus) {
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
  if (focus) keep_what_is_typed(*focus);
  if (focus && focus->waits()) ImGui::SetKeyboardFocusHere();
  ImGui::SetCursorPosY((box.height() - ImGui::GetFrameHeight()) / 2);
  ImGui::SetNextItemWidth(box.width() - canvas.px(16));
  bool entered = ImGui::InputText("##text", &text, ImGuiInputTextFlags_EnterReturnsTrue);
  if (focus) follow(*focus, ImGui::IsItemActive());
  ImGui::End();
  ImGui::PopFont();
  ImGui::PopStyleColor(2);
  ImGui::PopStyleVar(3);
  return entered;
}

}  // namespace

void App::draw_text_fields(Canvas& canvas) {
  Box filter{panes_.list.left + canvas.px(14), panes_.list.top + canvas.px(40),
             panes_.list.right - canvas.px(14), panes_.list.top + canvas.px(64)};
  text_field(canvas, "filter", filter, state_.filter, nullptr);
  draw_note_field(canvas);
  draw_row_filter(canvas);
  Search& search = state_.search;
  if (!search.open) return;
  bool entered = text_field(canvas, "search", search_box(canvas, panes_), search.text, &search.focus);
  if (entered) search.focus.ask();  // Enter walks on from hit to hit
  if (search.text != search.searched) run_search();
  if (entered) walk_hits(ImGui::GetIO().KeyShift ? -1 : 1);
}

void App::draw_note_field(Canvas& canvas) {
  if (!state_.noting) return;
  if (*state_.noting >= state_.bookmarks.size()) return state_.noting.reset();
  Bookmark& mark = state_.bookmarks[*state_.noting];
  float x = std::clamp(time_view().x_of(mark.t_ns), panes_.plot_left, panes_.plot_right - canvas.px(260));
  Box box{x, panes_.lanes.top + canvas.px(4), x + canvas.px(260), panes_.lanes.top + canvas.px(28)};
  canvas.fill(box, theme_.colours.raised, canvas.px(4));
  canvas.frame(box, theme_.colours.link, canvas.px(4));
  bool entered = text_field(canvas, "note", box, mark.note, &state_.note_focus);
  if (entered) end_note();
}

void App::draw_row_filter(Canvas& canvas) {
  RowFilter& filter = state_.row_filter;
  if (filter.open) {
    Box box{panes_.lanes.left + canvas.px(8), panes_.lanes.top + canvas.px(4),
            panes_.lanes.left + canvas.px(328), panes_.lanes.top + canvas.px(28)};
    canvas.fill(box, theme_.colours.raised, canvas.px(4));
    canvas.frame(box, theme_.colours.link, canvas.px(4));
    if (filter.text.empty() || filter.in_vain)
      canvas.text_in_right(Face::kSmall, {box.left, box.top, box.right - canvas.px(8), box.bottom},
                           filter.in_vain ? theme_.colours.error : theme_.colours.text_low,
                           filter.in_vain ? "no rank matches" : "0-3, 7, a host, a process");
    if (text_field(canvas, "rows", box, filter.text, &filter.focus)) filter.open = false;
  }
  if (filter.text != filter.applied) rebuild_rows();
}

void App::walk_hits(int step) {
  Search& search = state_.search;
  if (search.hits.empty()) return;
  auto count = static_cast<std::ptrdiff_t>(search.hits.size());
  auto chosen = static_cast<std::ptrdiff_t>(search.chosen);
  bool first = !search.walked;
  search.walked = true;
  search.chosen = static_cast<std::size_t>(first ? chosen : (chosen + step + count) % count);
  search.scroll_to_chosen();
  go_to_hit(search.hits[search.chosen]);
}

void App::run_search() {
  Search& search = state_.search;
  search.searched = search.text;
  search.hits.clear();
  search.chosen = search.first_shown = search.names_left_out = 0;
  search.walked = false;
  if (search.text.empty()) return;
  for (std::uint32_t i : listed_findings(reader_, search.text))
    search.hits.push_back(
        {SearchHit::What::kFinding, i, 0, 0, "finding  " + reader_.outcome().findings[i].slug});
  for (std::uint32_t i = 0; i < reader_.ranks().size(); ++i) {
    std::string name = fmt::format("rank {}", reader_.ranks()[i].rank);
    if (name == search.text || fmt::format("{}", reader_.ranks()[i].rank) == search.text)
      search.hits.push_back({SearchHit::What::kRank, i, i, 0, name});
  }
  find_calls();
  find_files();
}

void App::find_calls() {
  Search& search = state_.search;
  auto names = reader_.find_names(search.text);
  search.names_left_out = names.size() - std::min(names.size(), kMostNames);
  names.resize(names.size() - search.names_left_out);
  std::vector<std::size_t> column(reader_.names().size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) column[names[i]] = i;
  std::size_t ranks = reader_.ranks().size();
  std::vector<std::uint64_t> counts(names.size() * ranks, 0);
  for (std::size_t row = 0; row < ranks; ++row) {
    const merged::RankRow& rank = reader_.ranks()[row];
    for (std::uint32_t track = rank.first_track; track < rank.first_track + rank.tracks; ++track)
      for (const merged::NameCount& on : reader_.names_on(track))
        if (on.name < column.size() && column[on.name] < names.size())
          counts[column[on.name] * ranks + row] += on.count;
  }
  // One call can be of two kinds: a collective, and the barrier of those that nobody reads.
  std::map<std::string_view, int> kinds;
  for (std::uint32_t name : names) ++kinds[reader_.names()[name].text];
  for (std::size_t i = 0; i < names.size(); ++i) {
    const merged::Name& name = reader_.names()[names[i]];
    std::string text(name.text);
    if (kinds[text] > 1) text += fmt::format(" ({})", merged::name_of(name.kind));
    for (std::uint32_t row = 0; row < ranks; ++row)
      if (std::uint64_t count = counts[i * ranks + row])
        search.hits.push_back({SearchHit::What::kCall, names[i], row, count,
                               fmt::format("{}  rank {}", text, reader_.ranks()[row].rank)});
  }
}

void App::find_files() {
  Search& search = state_.search;
  for (std::string& path : reader_.find_files(search.text)) {
    std::map<std::uint32_t, std::uint64_t> counts;  // of accesses, by rank row
    for (merged::EventPlace place : reader_.accesses_of(path))
      ++counts[reader_.tracks()[place.track].rank_row];
    for (const auto& [row, count] : counts)
      search.hits.push_back({SearchHit::What::kFile, 0, row, count,
                             fmt::format("{}  rank {}", base_name(path), reader_.ranks()[row].rank), path});
  }
}

}  // namespace ddpscope::viewer
