// Ranks that do not fit together, in ways that NCCL reports nothing of.
//
// usage: misfits IDFILE WAY      RANK and WORLD_SIZE in the environment, or those of mpirun
//   sizes:     each rank sends 1024 floats to the next one, which receives 512 of them
//   bytes:     as sizes, but the receiver takes 4096 bytes: healthy
//   leaves:    the last rank destroys its communicator one round before the others, and sleeps
//   absent:    the last rank does not make the communicator, but waits for a signal that nobody sends
//   halves:    each half of the ranks makes a communicator of its own: healthy
#include "ranks.h"

static cudaStream_t stream;
static float* values;

static void settle() { CUDA(cudaStreamSynchronize(stream)); }

static void exchange(ncclComm_t all, int rank, int world, bool bytes) {
  int next = (rank + 1) % world, previous = (rank + world - 1) % world;
  NCCL(ncclGroupStart());
  NCCL(ncclSend(values, 1024, ncclFloat, next, all, stream));
  if (bytes)
    NCCL(ncclRecv(values + 1024, 4096, ncclUint8, previous, all, stream));
  else
    NCCL(ncclRecv(values + 1024, 512, ncclFloat, previous, all, stream));
  NCCL(ncclGroupEnd());
  settle();
}

static void reduce(ncclComm_t all) {
  NCCL(ncclAllReduce(values, values, 1024, ncclFloat, ncclSum, all, stream));
  settle();
}

static ncclComm_t make_half(const std::string& id_file, int rank, int world) {
  int size = world / 2, half = rank / size, own = rank % size;
  ncclComm_t comm;
  ncclUniqueId id = common_id(id_file + std::to_string(half), own);
  NCCL(ncclCommInitRank(&comm, size, id, own));
  return comm;
}

static int number(const char* name, const char* of_mpi) {
  const char* text = getenv(name) ? getenv(name) : getenv(of_mpi);
  return text ? atoi(text) : 0;
}

int main(int, char** argv) {
  std::string way = argv[2];
  int rank = number("RANK", "OMPI_COMM_WORLD_RANK"), world = number("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE");
  CUDA(cudaSetDevice(rank));
  CUDA(cudaStreamCreate(&stream));
  CUDA(cudaMalloc((void**)&values, 2048 * sizeof(float)));
  if (way == "absent" && rank == world - 1) return pause();
  ncclComm_t all;
  if (way == "halves") {
    all = make_half(argv[1], rank, world);
  } else {
    ncclUniqueId id = common_id(argv[1], rank);
    NCCL(ncclCommInitRank(&all, world, id, rank));
  }
  for (int round = 0; round < 3; ++round) reduce(all);
  if (way == "sizes" || way == "bytes") exchange(all, rank, world, way == "bytes");
  if (way == "leaves" && rank == world - 1) {
    NCCL(ncclCommDestroy(all));  // early
    return (int)sleep(600);
  }
  reduce(all);
  NCCL(ncclCommDestroy(all));
  return 0;
}
