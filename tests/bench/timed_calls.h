// Calls through the hooks of a preloaded injector beside the same calls past them. A shared library, so that
// a C++ program and Python can make the calls from under stacks of their own.
#pragma once
#include <cstdint>

// Each prints one line of JSON: what `calls` calls took through the hook, bare, and with nothing in their
// place, in ns. The three take turns in short blocks, so whatever slows the machine down meets all of them.
extern "C" {

// ncclAllReduce; its count takes `kinds` values in turn, so with as many as there are calls nothing recurs.
void time_collectives(std::uint64_t calls, std::uint64_t kinds);

// A copy of so many bytes from the host to the device.
void time_copies(std::uint64_t calls, std::uint64_t bytes);
// A number copied to the host, and the wait for it: two calls.
void time_values(std::uint64_t calls);

// ncclAllReduce that is timed by events. A launch, of 25 kernels in turn. A hundred kernels that CUPTI tells
// of, each with its call.
void time_timed_collectives(std::uint64_t calls);
void time_launches(std::uint64_t calls);
void time_kernel_records(std::uint64_t calls);

// PyTorch's: an all-reduce of a process group and the wait for it, two recorded calls; a gradient given to a
// reducer, which is recorded for the first parameter of a pass only.
void time_group_calls(std::uint64_t calls);
void time_gradients(std::uint64_t calls);

// A byte read from, or written to, a device: never recorded.
void time_reads(std::uint64_t calls);
void time_writes(std::uint64_t calls);
void time_sends(std::uint64_t calls);

// An event descriptor written and read; a semaphore of System V raised and lowered by one call. One of 25
// names looked for in vain by a process that has no trace yet.
void time_events(std::uint64_t calls);
void time_semaphores(std::uint64_t calls);
void time_looks(std::uint64_t calls);

// A name looked for and found, the end of a file sought, by a process that has a trace.
void time_found_names(std::uint64_t calls);
void time_end_seeks(std::uint64_t calls);
// An entry of a folder of 500 read, which is made in the working folder: whether its names are told depends
// on what is mounted there. After the last one it goes on from the first.
void time_entries(std::uint64_t calls);

// A mutex locked and unlocked: by one thread, and one that another thread had unlocked before. A signal that
// nobody waits for. A semaphore posted and taken. A thread woken by a condition variable that wakes the first
// one in turn.
void time_locks(std::uint64_t calls);
void time_shared_locks(std::uint64_t calls);
void time_crowded_locks(std::uint64_t calls);
void time_signals(std::uint64_t calls);
void time_posts(std::uint64_t calls);
void time_wakes(std::uint64_t calls);
}
