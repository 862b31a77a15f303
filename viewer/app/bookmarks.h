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
// None where there is no such file, or a link or a pipe. Lines that are none are left out.
std::vector<Bookmark> read_bookmarks(const std::filesystem::path& notes);
// Whole or not at all. Errors: the file cannot be written, or is a link or a pipe.
Result<bool> write_bookmarks(const std::filesystem::path& notes, const std::vector<Bookmark>& bookmarks);

}  // namespace ddpscope::viewer
