// What Python prints of an exception that nobody caught: by the time the process exits its frames are gone.
#pragma once
#include <sys/types.h>
#include <unistd.h>

#include "injector/python/interpreter.h"

namespace ddpscope::injector {

// Looks at what the main thread has printed: `bytes` of `text`. errno is as it was.
void read_printed(const char* text, std::size_t bytes);

// Of a write that is over; returns `written`, its result. A traceback on standard error becomes a record with
// the printed frames as its stack and the exception's type; what else is printed is passed over. Read as
// traceback.print_exception writes it (Lib/traceback.py), coloured or not, so that one that was caught and
// logged counts as well: whether the process ended of it is the analysis's business. Each line may begin with
// one and the same prefix, as PyTorch's excepthook writes them in a process group ("[rank3]: ").
inline ssize_t note_printed(int fd, const void* text, ssize_t written) {
  if (__builtin_expect(fd == STDERR_FILENO && written > 0 && python::is_present, 0))
    read_printed(static_cast<const char*>(text), static_cast<std::size_t>(written));
  return written;
}

}  // namespace ddpscope::injector
