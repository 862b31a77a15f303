// Looks at names by a process that has no trace yet: most never get one. They are kept until it does, because
// whoever finds what another rank made comes after it; and who looks for one name in vain again and again
// waits for somebody.
#pragma once
#include "injector/files/lookup_call.h"
#include "injector/files/open_call.h"

namespace ddpscope::injector {

// Whether it opens a file of the program's data, and is a rank, which may do no more than read what another
// one makes: that weighs enough.
bool reads_as_rank(const OpenRequest& request);

// At its end: so it does if the process is a rank and has looked for such a file in vain.
void keep_looks_of_rank();

// Before the real call: its ticks if this process is to be recorded once something weighs enough, else 0.
std::uint64_t begin_passed_look();

// After it. Looking for one name in vain for a millisecond weighs enough. Of opens only those that fail, and
// one that then succeeds, are looks. Keeps errno.
void note_passed_look(Call call, NameArgument name, const Found& found, int error, std::uint64_t began);

// To open a pipe that has a name is to wait for another process, and weighs enough.
void note_opened_pipe(const OpenRequest& request, const Found& found, std::uint64_t began);

// The first records of the file. As own work only.
void write_passed_looks(trace::FileWriter& file);

// In the child of a fork: they are its parent's.
void forget_passed_looks();

}  // namespace ddpscope::injector
