// A library with NCCL's soname and a few of its functions, which do what a trap needs: nothing, wait, leave.
#include <setjmp.h>
#include <stddef.h>
#include <unistd.h>

typedef struct {
  char bytes[128];
} unique_id;

enum { kHang = 1000001, kLeave = 1000002 };  // counts that ask for it

jmp_buf fake_nccl_way_out;
void (*fake_nccl_inside)(void);  // run within a collective

__attribute__((weak)) int ncclGetUniqueId(unique_id* id) {
  for (int i = 0; i < 128; ++i) id->bytes[i] = (char)(i + getpid());
  return 0;
}

__attribute__((weak)) int ncclCommInitRank(void** comm, int ranks, unique_id id, int rank) {
  (void)ranks;
  (void)id;
  static char handles[8];
  *comm = &handles[rank % 8];
  return 0;
}

__attribute__((weak)) int ncclCommInitAll(void** comms, int ranks, const int* devices) {
  (void)devices;
  for (int rank = 0; rank < ranks; ++rank) ncclCommInitRank(&comms[rank], ranks, (unique_id){{0}}, rank);
  return 0;
}

__attribute__((weak)) int ncclCommSplit(void* comm, int color, int key, void** child, void* config) {
  (void)key;
  (void)config;
  *child = color < 0 ? NULL : (char*)comm + 64;
  return 0;
}

__attribute__((weak)) int ncclCommDestroy(void* comm) {
  (void)comm;
  return 0;
}

__attribute__((weak)) int ncclCommCount(void* comm, int* count) {
  (void)comm;
  *count = 2;
  return 0;
}

__attribute__((weak)) int ncclCommUserRank(void* comm, int* rank) {
  (void)comm;
  *rank = 0;
  return 0;
}

__attribute__((weak)) int ncclCommGetAsyncError(void* comm, int* error) {
  (void)comm;
  *error = 0;
  return 0;
}

__attribute__((weak)) int ncclAllReduce(const void* from, void* to, size_t count, int type, int op,
                                        void* comm, void* stream) {
  (void)from, (void)to, (void)type, (void)op, (void)comm, (void)stream;
  if (count == kHang)
    for (;;) pause();
  if (count == kLeave) longjmp(fake_nccl_way_out, 1);
  if (fake_nccl_inside) fake_nccl_inside();
  return 0;
}

__attribute__((weak)) int ncclBroadcast(const void* from, void* to, size_t count, int type, int root,
                                        void* comm, void* stream) {
  (void)from, (void)to, (void)count, (void)type, (void)root, (void)comm, (void)stream;
  return 0;
}

__attribute__((weak)) int ncclGroupStart(void) { return 0; }

__attribute__((weak)) int ncclGroupEnd(void) { return 0; }

// As the real one: through its own exported name.
__attribute__((weak)) int ncclBcast(void* buffer, size_t count, int type, int root, void* comm,
                                    void* stream) {
  return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}
