// What a framework's library does with NCCL; loaded in every way that matters.
#include <stddef.h>

typedef struct {
  char bytes[128];
} unique_id;
int ncclCommInitRank(void** comm, int ranks, unique_id id, int rank);
int ncclAllReduce(const void* from, void* to, size_t count, int type, int op, void* comm, void* stream);

static void* comm;

int consume(size_t count) {
  unique_id id = {{1}};
  int result = comm ? 0 : ncclCommInitRank(&comm, 2, id, 0);
  return result ? result : ncclAllReduce(NULL, NULL, count, 7, 0, comm, NULL);
}
