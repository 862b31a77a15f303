// Bookmarks and notes, in a file beside the trace.
#include "viewer/app/bookmarks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "collector/output/new_file.h"
#include "viewer/app/app.h"

namespace ddpscope::viewer {
namespace {

// Or none yet. Who handed the trace on may have put something else there: a link to a file of the reader's,
// or a pipe that never ends.
bool is_plain(const std::filesystem::path& notes) {
  std::error_code failed;
  std::filesystem::file_status status = std::filesystem::symlink_status(notes, failed);
  return !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
}

}  // namespace

std::filesystem::path notes_path(const std::filesystem::path& trace) {
  std::error_code failed;
  if (std::filesystem::is_directory(trace, failed)) return trace / "ddpscope.notes";
  return trace.string() + ".notes";
}

std::vector<Bookmark> read_bookmarks(const std::filesystem::path& notes) {
  std::vector<Bookmark> bookmarks;
  if (!is_plain(notes)) return bookmarks;
  std::ifstream file(notes);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Bookmark mark;
    if (!(words >> mark.t_ns >> mark.rank)) continue;
    words.get();
    std::getline(words, mark.note);
    bookmarks.push_back(std::move(mark));
  }
  return bookmarks;
}

Result<bool> write_bookmarks(const std::filesystem::path& notes, const std::vector<Bookmark>& bookmarks) {
  std::string text;
  for (const Bookmark& mark : bookmarks) text += fmt::format("{}\t{}\t{}\n", mark.t_ns, mark.rank, mark.note);
  const char* why = "something else than a file has their name, which is not followed";
  if (is_plain(notes)) {
    int error = output::replace_file(notes, text);
    if (!error) return true;
    why = std::strerror(error);
  }
  return Error{std::string("bookmarks cannot be written: ") + why, notes.string(),
               "they are kept until the viewer is closed"};
}

// At the chosen event, or in the middle of what is shown; one that is there already is taken away.
void App::add_bookmark() {
  Bookmark mark{state_.shown.from_ns + state_.shown.length() / 2, -1, ""};
  if (state_.event != merged::kNoEvent) {
    mark.t_ns = reader_.event(state_.event).begin_ns;
    mark.rank = reader_.ranks()[reader_.tracks()[state_.event.track].rank_row].rank;
  }
  auto& all = state_.bookmarks;
  state_.noting.reset();
  if (auto near = bookmark_near(mark.t_ns))
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(*near));
  else
    all.insert(std::upper_bound(all.begin(), all.end(), mark,
                                [](const Bookmark& a, const Bookmark& b) { return a.t_ns < b.t_ns; }),
               mark);
  if (bookmarks_changed) bookmarks_changed(all);
}

std::optional<std::size_t> App::bookmark_near(std::int64_t t_ns) const {
  for (std::size_t i = 0; i < state_.bookmarks.size(); ++i)
    if (std::abs(state_.bookmarks[i].t_ns - t_ns) <= state_.shown.length() / 300) return i;
  return std::nullopt;
}

// Of the bookmark in view that is nearest to the middle, or of a new one.
void App::note_nearest() {
  std::int64_t middle = state_.shown.from_ns + state_.shown.length() / 2;
  std::optional<std::size_t> nearest;
  auto distance = [&](std::size_t i) { return std::abs(state_.bookmarks[i].t_ns - middle); };
  for (std::size_t i = 0; i < state_.bookmarks.size(); ++i)
    if (state_.shown.contains(state_.bookmarks[i].t_ns) && (!nearest || distance(i) < distance(*nearest)))
      nearest = i;
  if (!nearest) add_bookmark();
  if (!nearest) nearest = bookmark_near(middle);
  if (nearest) begin_note(*nearest);
}

void App::begin_note(std::size_t bookmark) {
  state_.noting = bookmark;
  state_.note_focus.ask();
}

void App::end_note() {
  state_.noting.reset();
  if (bookmarks_changed) bookmarks_changed(state_.bookmarks);
}

void App::next_bookmark() {
  if (state_.bookmarks.empty()) return;
  std::int64_t middle = state_.shown.from_ns + state_.shown.length() / 2, half = state_.shown.length() / 2;
  const Bookmark* next = &state_.bookmarks.front();
  for (const Bookmark& mark : state_.bookmarks)
    if (mark.t_ns > middle + state_.shown.length() / 300) {
      next = &mark;
      break;
    }
  fly_to(limited({next->t_ns - half, next->t_ns + half}, run()), state_.scroll);
}

}  // namespace ddpscope::viewer
