// Names that were changed past the hooks. Some programs rename by the system call itself (Rust's rustix does,
// and with it safetensors): that shows only in the name that the descriptor has when it is closed.
#pragma once
#include "injector/files/opening.h"
#include "injector/files/paths.h"
#include "trace/write/file_writer.h"

namespace ddpscope::injector {

// `fd` was just opened for a file that did not exist before, by this path: who makes a file to rename it does
// it so. One system call. As own work only.
void keep_created_name(Opening& opening, int fd, PathText path);

// Before `fd` is closed: records a rename if the file has another name in the same folder, and no hook saw
// who gave it. One system call. As own work only.
void record_unseen_rename(trace::FileWriter& file, Opening& opening, int fd);

// The last descriptor of an opening is about to go.
void forget_created_name(Opening& opening);

// A hook saw that the name `path_hash` was given to a file that existed.
void note_seen_rename(std::uint64_t path_hash);

}  // namespace ddpscope::injector
