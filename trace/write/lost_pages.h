// What is mapped of a trace file may go away under its process: somebody cuts the file off (`: > TRACE/*`, a
// log rotation that copies and truncates), its file server forgets it. A touch of such a page raises SIGBUS,
// which would end the guest. A file cannot be kept from that: there are no mandatory locks any more, seals
// are for memory alone, and a file without a name would be lost with a process that is killed. So the page is
// replaced by memory of the process's own, and what is recorded from then on is lost.
//
// All functions are safe in a signal handler. One file is written at a time.
#pragma once
#include <cstddef>

namespace ddpscope::trace {

// Mapped and in use from now on, never unmapped; `is_chunk`: begins with a ChunkHeader. At most 65,536 parts
// of a process are known, more than the ring and its threads take.
void note_mapped_part(void* address, std::size_t bytes, bool is_chunk);

// Whether the page belongs to a part, and is memory of the process's own now. A chunk's header says how large
// the chunk is also then: nothing is written beyond it.
bool replace_lost_page(void* address);

bool has_lost_pages();     // of the file that is open now
void forget_lost_pages();  // another file is opened: in a child

}  // namespace ddpscope::trace
