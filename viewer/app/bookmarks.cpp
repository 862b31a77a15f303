// Bookmarks and notes, in a file beside the trace.
#include "viewer/app/bookmarks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "viewer/app/app.h"

namespace ddpscope::viewer {

std::filesystem::path notes_path(const std::filesystem::path& trace) {
  std::error_code failed;
  if (std::filesystem::is_directory(trace, failed)) return trace / "ddpscope.notes";
  return trace.string() + ".notes";
}

std::vector<Bookmark> read_bookmarks(const std::filesystem::path& notes) {
  std::vector<Bookmark> bookmarks;
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
  std::filesystem::path unfinished = notes.string() + ".part";
  std::error_code failed;
  {
    std::ofstream file(unfinished);
    for (const Bookmark& mark : bookmarks)
      file << mark.t_ns << '\t' << mark.rank << '\t' << mark.note << '\n';
    file.flush();
    if (!file) failed = std::make_error_code(std::errc::io_error);
  }
  if (!failed) std::filesystem::rename(unfinished, notes, failed);
  if (!failed) return true;
  std::error_code ignored;
  std::filesystem::remove(unfinished, ignored);
  return Error{"bookmarks cannot be written: " + failed.message(), notes.string(),
               "they are kept until the viewer is closed"};
}

// At the chosen event, or in the middle of what is shown; one that is there already is taken away.
void App::add_bookmark() {
  Bookmark mark{state_.shown.from_ns + state_.shown.length() / 2, -1, ""};
  if (state_.event != merged::kNoEvent) {
    mark.t_ns = reader_.event(state_.event).begin_ns;
    mark.rank = reader_.ranks()[reader_.tracks()[state_.event.track].rank_row].rank;
  }
  auto near = [&](const Bookmark& other) {
    return std::abs(other.t_ns - mark.t_ns) <= state_.shown.length() / 300;
  };
  auto& all = state_.bookmarks;
  auto found = std::find_if(all.begin(), all.end(), near);
  if (found != all.end())
    all.erase(found);
  else
    all.insert(std::upper_bound(all.begin(), all.end(), mark,
                                [](const Bookmark& a, const Bookmark& b) { return a.t_ns < b.t_ns; }),
               mark);
  if (bookmarks_changed) bookmarks_changed(all);
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
