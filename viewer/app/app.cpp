// The viewer as one object: choosing and flying.
#include "viewer/app/app.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cstdlib>

#include "viewer/lanes/row_filter.h"

namespace ddpscope::viewer {
namespace {

constexpr double kFlightSeconds = 0.2;
constexpr std::int64_t kLeastFocusNs = 20'000;
constexpr float kStoryPart = 0.4f;  // of the lanes' height, where not all rows fit

merged::EventPlace first_access_of(const merged::Reader& reader, const SoughtOnRank& sought) {
  merged::EventPlace earliest = merged::kNoEvent;
  for (merged::EventPlace place : reader.accesses_of(sought.path)) {
    if (reader.tracks()[place.track].rank_row != sought.rank_row) continue;
    if (earliest == merged::kNoEvent) earliest = place;
    if (reader.event(place).begin_ns >= sought.from_ns) return place;
  }
  return earliest;
}

// From then on or, if there is none, of all.
merged::EventPlace first_of(const merged::Reader& reader, const SoughtOnRank& sought) {
  if (!sought.path.empty()) return first_access_of(reader, sought);
  std::vector<bool> names(reader.names().size(), false);
  names[sought.name] = true;
  const merged::RankRow& rank = reader.ranks()[sought.rank_row];
  merged::EventPlace earliest = merged::kNoEvent, found = merged::kNoEvent;
  for (std::uint32_t track = rank.first_track; track < rank.first_track + rank.tracks; ++track) {
    reader.for_each_named(track, names, [&](std::uint64_t index, const merged::Event& event) {
      if (earliest == merged::kNoEvent) earliest = {track, index};
      if (event.begin_ns >= sought.from_ns) found = {track, index};
      return event.begin_ns < sought.from_ns;
    });
    if (found != merged::kNoEvent) return found;
  }
  return earliest;
}

// Tracks have other numbers there.
merged::EventPlace place_of_same(const merged::Reader& from, merged::EventPlace place,
                                 const merged::Reader& in) {
  if (place == merged::kNoEvent) return place;
  auto key = key_of(from.tracks()[place.track]);
  for (std::uint32_t i = 0; i < in.tracks().size(); ++i)
    if (key_of(in.tracks()[i]) == key) return {i, place.index};
  return merged::kNoEvent;
}

}  // namespace

App::App(merged::Reader reader, const AppOptions& options)
    : reader_(std::move(reader)),
      stories_([this](std::uint32_t finding) -> Result<Story> { return tell(reader_, finding); }),
      details_([this](const merged::EventPlace& place) { return reader_.detail(place); }),
      copies_([this](const merged::EventPlace& place) { return reader_.detail(place); }),
      durations_(
          [this](const DurationsKey& key) -> Result<CallDurations> { return durations_of(reader_, key); }),
      firsts_([this](const SoughtOnRank& sought) -> Result<merged::EventPlace> {
        return first_of(reader_, sought);
      }),
      options_(options),
      labels_(reader_) {
  state_.scale = options.scale;
  state_.reduced_motion = options.reduced_motion;
  state_.shown = limited({INT64_MIN / 4, INT64_MAX / 4}, run());
  theme_.scale = options.scale;
  set_theme(options.theme);
  rebuild_rows();
  panes_ = panes_of(1920, 1080, state_.scale, state_.sizes, {});
  if (!reader_.outcome().findings.empty()) choose_finding(0);  // worst first
  state_.flight_done = 1;
  state_.shown = state_.flight_to.length() > 0 ? state_.flight_to : state_.shown;
  state_.scroll = state_.flight_scroll_to;
}

void App::build_fonts() {
  theme_.scale = state_.scale;
  theme_.fonts = viewer::build_fonts(*ImGui::GetIO().Fonts, state_.scale);
  wants_fonts_ = false;
}

void App::set_theme(ThemeName theme) {
  state_.theme = theme_.name = theme;
  theme_.colours = palette_of(theme);
}

void App::set_scale(float scale) {
  scale = std::clamp(scale, 0.5f, 4.0f);
  if (scale == state_.scale) return;
  state_.scale = scale;
  wants_fonts_ = true;
}

TimeView App::time_view() const {
  return {state_.shown, panes_.plot_left, std::max(panes_.plot_right - panes_.plot_left, 1.0f)};
}

float App::rows_height() const { return panes_.lanes.height() / state_.scale; }

RowPlacing App::placing() const {
  return {rows_, layout_, panes_.lanes.top - state_.scroll * state_.scale, state_.scale};
}

void App::rebuild_rows() {
  rows_for_height_ = panes_.lanes.height();
  state_.rows.story_height = lane_height(story_);
  state_.rows.story_communicator = story_.communicator;
  state_.rows.only.clear();
  if (state_.only_concerned) state_.rows.only.insert(story_.rank_rows.begin(), story_.rank_rows.end());
  state_.rows.first.clear();
  filter_rows();
  state_.rows.density = density();
  std::size_t ranks = reader_.ranks().size(), faulty = story_.fault_rows.size();
  bool out_of_sight = ranks > kManyRankRows || state_.rows.density != Density::kRoomy;
  if (out_of_sight && (ranks > kMostRankRows ? faulty <= kFewRankRows : faulty < ranks))
    state_.rows.first = story_.fault_rows;
  if (state_.rows.density != Density::kRoomy)
    state_.rows.story_height =
        std::clamp(kStoryPart * rows_height(), least_lane_height(story_), lane_height(story_));
  rows_ = make_rows(reader_, state_.rows);
  std::vector<float> heights;
  for (const Row& row : rows_) heights.push_back(row.height);
  layout_ = RowLayout(heights);
  state_.scroll = std::clamp(state_.scroll, 0.0f, std::max(0.0f, layout_.height() - rows_height()));
}

// By what all rows need as they come, whatever is unfolded: who unfolds one changes no other.
Density App::density() const {
  if (reader_.ranks().size() > kMostRankRows) return Density::kRoomy;
  for (Density density : {Density::kRoomy, Density::kDense}) {
    RowChoice choice = state_.rows;
    choice.turned.clear(), choice.turned_communicators.clear();
    choice.density = density;
    float height = 0;
    for (const Row& row : make_rows(reader_, choice)) height += row.height;
    if (height <= rows_height()) return density;
  }
  return Density::kFolded;
}

// Those of the finding that match, if only they are shown.
void App::filter_rows() {
  RowFilter& filter = state_.row_filter;
  filter.applied = filter.text;
  std::set<std::uint32_t> wanted = matching_rows(reader_, filter.text);
  if (state_.only_concerned)
    std::erase_if(wanted, [&](std::uint32_t row) { return !state_.rows.only.contains(row); });
  filter.in_vain = !filter.text.empty() && wanted.empty();
  if (!wanted.empty()) state_.rows.only = std::move(wanted);
}

// So that the rows that the story is about are seen: all of them, or what it is about and who is at fault, or
// as much of these as fits.
float App::scroll_to_story() const {
  float scroll = state_.scroll;
  for (bool all : {true, false}) {
    auto [top, bottom] = story_extent(all);
    if (bottom <= top) continue;
    scroll = scrolled_to(state_.scroll, top, bottom, rows_height(), layout_.height());
    if (bottom - top <= rows_height()) return scroll;
  }
  if (story_.fault_rows.empty() || story_.lane != StoryLane::kNone) return scroll;
  std::size_t fault = row_of_rank(rows_, reader_, story_.fault_rows.front());
  if (fault >= rows_.size()) return scroll;
  float margin = 40;  // not at the very edge, where its disc is cut
  return scrolled_to(scroll, layout_.box(fault).top - margin, layout_.box(fault).bottom() + margin,
                     rows_height(), layout_.height());
}

// Of its lane, its communicator's and the ranks' that it concerns, or only of the first one at fault.
std::pair<float, float> App::story_extent(bool all) const {
  float top = layout_.height(), bottom = 0;
  auto add = [&](std::size_t row) {
    if (row >= rows_.size()) return;
    top = std::min(top, layout_.box(row).top), bottom = std::max(bottom, layout_.box(row).bottom());
  };
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (rows_[i].kind == RowKind::kStory ||
        (rows_[i].kind == RowKind::kCommunicator && rows_[i].index == story_.communicator))
      add(i);
  std::vector<std::uint32_t> ranks = all ? story_.rank_rows : story_.fault_rows;
  if (!all && ranks.size() > 1) ranks.resize(1);
  for (std::uint32_t rank : ranks) add(row_of_rank(rows_, reader_, rank));
  return {top, bottom};
}

void App::fly_to(TimeSpan span, float scroll) {
  state_.flight_from = state_.shown, state_.flight_to = span;
  state_.flight_scroll_from = state_.scroll, state_.flight_scroll_to = scroll;
  state_.flight_done = 0;
  if (state_.reduced_motion || options_.unhurried) {
    state_.flight_done = 1;
    state_.shown = span, state_.scroll = scroll;
  }
}

void App::advance_flight() {
  if (!state_.flies()) return;
  state_.flight_done = std::min(1.0, state_.flight_done + ImGui::GetIO().DeltaTime / kFlightSeconds);
  double eased = state_.flight_done * (2 - state_.flight_done);
  if (state_.flight_done >= 1) eased = 1;
  state_.shown = between(state_.flight_from, state_.flight_to, eased);
  state_.scroll = state_.flight_scroll_from +
                  (state_.flight_scroll_to - state_.flight_scroll_from) * static_cast<float>(eased);
}

void App::choose_finding(std::uint32_t finding, bool alone) {
  if (finding >= reader_.outcome().findings.size()) return;
  state_.finding = finding;
  state_.evidence = kNoneChosen;
  state_.event = merged::kNoEvent;
  begin_story();
  if (alone)
    state_.only_concerned = !story_.rank_rows.empty() && story_.rank_rows.size() < reader_.ranks().size();
  bool grouped = reader_.ranks().size() > kMostRankRows;
  if (grouped && !story_.fault_rows.empty() && story_.fault_rows.size() <= 64) {
    for (std::uint32_t row : story_.fault_rows)
      if (reader_.ranks()[row].host != merged::kNone)
        state_.rows.turned_hosts.insert(reader_.ranks()[row].host);
  }
  frame_story();
}

// What has to be read of it comes later, but before the first frame there is time.
void App::begin_story() {
  story_ = sketch(reader_, state_.finding);
  stories_.ask(state_.finding);
  take_story();
}

bool App::take_story() {
  const Story* whole = stories_.take(options_.unhurried || first_frame_);
  if (whole) story_ = *whole;
  return whole;
}

// What was asked for in an earlier frame.
void App::take_what_came() {
  bool framed = state_.flight_to == framed_;  // nobody has moved meanwhile
  if (take_story()) framed ? frame_story() : rebuild_rows();
  go_to_sought();
  end_copy();
}

void App::frame_story() {
  rebuild_rows();
  framed_ = fitted(story_.focus, 0.6, kLeastFocusNs, run());
  fly_to(framed_, scroll_to_story());
}

void App::take_over(const App& earlier) {
  merged::EventPlace event = place_of_same(earlier.reader_, earlier.state_.event, reader_);
  TimeSpan first = state_.shown;
  std::uint32_t worst = state_.finding;
  state_ = earlier.state_;
  if (!earlier.reader_.is_judged()) state_.finding = worst;  // there was none to choose
  theme_ = earlier.theme_;
  panes_ = earlier.panes_;
  wants_fonts_ = earlier.wants_fonts_, first_frame_ = earlier.first_frame_, touched_ = earlier.touched_;
  now_ = earlier.now_, framed_ = earlier.framed_;
  state_.event = event;
  state_.search.searched.clear();  // there is more to be found
  if (state_.finding != story_.finding) begin_story();
  rebuild_rows();
  if (touched_) return;
  state_.shown = state_.flight_to = first, state_.flight_done = 1;
  state_.scroll = scroll_to_story();
}

bool App::go_to(const std::string& name) {
  const auto& all = reader_.outcome().findings;
  for (std::uint32_t i = 0; i < all.size(); ++i)
    if (all[i].id == name || all[i].slug == name || fmt::format("{}", i + 1) == name) {
      choose_finding(i);
      return true;
    }
  // What only follows from another has no entry of its own: to its cause.
  for (std::uint32_t i = 0; i < all.size(); ++i)
    if (std::find(all[i].consequences.begin(), all[i].consequences.end(), name) !=
        all[i].consequences.end()) {
      choose_finding(i);
      return true;
    }
  return false;
}

void App::choose_evidence(std::size_t evidence) {
  if (evidence >= story_.discs.size()) return;
  state_.evidence = evidence;
  const StoryDisc& disc = story_.discs[evidence];
  state_.event = disc.place;
  fly_to_moment(disc.in_lane ? merged::kNone : disc.rank_row, disc.drawn_ns());
}

void App::show_first_failure() {
  const auto& failure = reader_.outcome().first_failure;
  if (!failure) return;
  state_.event = merged::kNoEvent;
  fly_to_moment(reader_.row_of_rank(failure->evidence.rank), failure->evidence.t_ns);
}

// As much time as now in view, around it; of a rank, its row.
void App::fly_to_moment(std::uint32_t rank_row, std::int64_t t_ns) {
  std::int64_t half = state_.shown.length() / 2;
  float scroll = state_.scroll;
  if (rank_row != merged::kNone)
    if (std::size_t row = row_of_rank(rows_, reader_, rank_row); row < rows_.size())
      scroll = scrolled_to(scroll, layout_.box(row).top, layout_.box(row).bottom(), rows_height(),
                           layout_.height());
  fly_to(limited({t_ns - half, t_ns + half}, run()), scroll);
}

void App::show_whole_run() { show_stretch({INT64_MIN / 4, INT64_MAX / 4}); }

void App::next_finding(int step) {
  auto shown = listed_findings(reader_, state_.filter);
  if (shown.empty()) return;
  auto at = std::find(shown.begin(), shown.end(), state_.finding);
  auto count = static_cast<std::ptrdiff_t>(shown.size());
  std::ptrdiff_t next =
      at == shown.end() ? (step > 0 ? 0 : count - 1) : (at - shown.begin() + step + count) % count;
  choose_finding(shown[static_cast<std::size_t>(next)], true);
}

void App::next_event(int step) {
  merged::EventPlace place = state_.event;
  if (place == merged::kNoEvent) return;
  std::uint64_t count = reader_.tracks()[place.track].events;
  if (step < 0 ? place.index == 0 : place.index + 1 >= count) return;
  place.index = step < 0 ? place.index - 1 : place.index + 1;
  state_.event = place;
  merged::Event event = reader_.event(place);
  if (!state_.shown.contains(event.begin_ns)) {
    std::int64_t half = state_.shown.length() / 2;
    fly_to(limited({event.begin_ns - half, event.begin_ns + half}, run()), state_.scroll);
  }
}

// Once: into the middle. When it is there already: so that it fills the plot.
void App::frame_chosen() {
  TimeSpan span = story_.finding != merged::kNone ? story_.focus : run();
  if (state_.event != merged::kNoEvent) {
    merged::Event event = reader_.event(state_.event);
    span = {event.begin_ns, event.end_ns};
  }
  std::int64_t middle = span.from_ns + span.length() / 2, half = state_.shown.length() / 2;
  TimeSpan centred = limited({middle - half, middle - half + state_.shown.length()}, run());
  bool there = std::llabs(centred.from_ns - state_.shown.from_ns) <= state_.shown.length() / 200;
  fly_to(there ? fitted(span, 0.6, kLeastFocusNs / 10, run()) : centred, state_.scroll);
}

void App::toggle_only_concerned() {
  if (story_.finding == merged::kNone) return;
  state_.only_concerned = !state_.only_concerned;
  rebuild_rows();
  fly_to(state_.shown, scroll_to_story());
}

void App::clear() {
  if (state_.help) {
    state_.help = false;
  } else if (state_.noting) {
    end_note();
  } else if (state_.page != OverPage::kNone) {
    state_.page = OverPage::kNone;
  } else if (state_.search.open) {
    state_.search = {};
  } else if (state_.measured) {
    state_.measured.reset();
  } else if (state_.row_filter.open) {
    state_.row_filter.open = false;
  } else if (!state_.filter.empty()) {
    state_.filter.clear();
  } else if (!state_.row_filter.text.empty()) {
    state_.row_filter.text.clear();
    rebuild_rows();
  } else if (state_.only_concerned) {
    toggle_only_concerned();
  } else {
    state_.event = merged::kNoEvent;
    state_.evidence = kNoneChosen;
  }
}

bool App::moves() const {
  return state_.flies() || !keys_.empty() || wants_fonts_ || (!complete_ && !reader_.idle());
}

}  // namespace ddpscope::viewer
