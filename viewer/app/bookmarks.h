// Bookmarks and notes, in a file beside the trace.
#pragma once
#include <filesystem>
#include <vector>

#include "trace/result.h"
#include "viewer/app/state.h"

namespace ddpscope::viewer {

// TRACE.notes beside a merged file, TRACE/ddpscope.notes in a folder. One line each: ns since the job's
// start, rank or -1, the note, with tabs between.
std::filesystem::path notes_path(const std::filesystem::path& trace);
// None where there is no such file. Lines that are none are left out.
std::vector<Bookmark> read_bookmarks(const std::filesystem::path& notes);
// Errors: the file cannot be written.
Result<bool> write_bookmarks(const std::filesystem::path& notes, const std::vector<Bookmark>& bookmarks);

}  // namespace ddpscope::viewer
