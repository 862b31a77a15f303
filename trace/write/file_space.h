// Room in a file for what is going to be recorded: taken from the disk and mapped at once, so that the hot
// path meets neither a full disk (SIGBUS) nor a fault.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/format.h"

namespace ddpscope::trace {

// What one fault maps, found out with the first large piece of a file.
enum class FaultAround : int { kUnknown, kOnePage, kManyPages };

// The mapped room, readable, writable and zero; nullptr: there is none, as the error number says (ENOSPC,
// EDQUOT, EFBIG: beyond RLIMIT_FSIZE, ENOMEM). `offset` and `bytes` are whole pages; the file grows where it
// is shorter.
void* map_new_space(int fd, std::uint64_t offset, std::size_t bytes, std::atomic<FaultAround>& fault_around,
                    int& error);

// Room that is there already; nullptr: it cannot be mapped.
void* map_written_space(int fd, std::uint64_t offset, std::size_t bytes);

// Writes a copy of the chunk to `offset`, at the end of the file; `used` last, so that a copy that was cut
// short reads as an empty chunk. False: there is no room for it, and nothing is left there.
bool write_copy(int fd, const ChunkHeader& chunk, std::uint64_t offset);

void* map_private(std::size_t bytes);  // zero memory, no page before it is touched; nullptr: none
void unmap(void* address, std::size_t bytes);

}  // namespace ddpscope::trace
