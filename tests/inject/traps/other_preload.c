// Somebody else's preload in front of NCCL, by the book.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int ncclAllReduce(const void* from, void* to, size_t count, int type, int op, void* comm, void* stream) {
  static int (*next)(const void*, void*, size_t, int, int, void*, void*);
  if (!next) next = (__typeof__(next))dlsym(RTLD_NEXT, "ncclAllReduce");
  printf("other %zu\n", count);
  fflush(stdout);
  return next(from, to, count, type, op, comm, stream);
}
