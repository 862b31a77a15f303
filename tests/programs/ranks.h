// What programs of one process a rank begin with: the id by way of a file, the rank's device, checked calls.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fstream>
#include <string>

#define CHECK(call, good)                                                    \
  do {                                                                       \
    if (auto result = (call); result != (good)) {                            \
      fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, result); \
      exit(1);                                                               \
    }                                                                        \
  } while (0)
#define CUDA(call) CHECK(call, cudaSuccess)
#define NCCL(call) CHECK(call, ncclSuccess)

static ncclUniqueId common_id(const std::string& path, int rank) {
  ncclUniqueId id;
  if (rank == 0) {
    NCCL(ncclGetUniqueId(&id));
    std::ofstream(path + ".new", std::ios::binary).write(id.internal, sizeof id.internal);
    CHECK(rename((path + ".new").c_str(), path.c_str()), 0);
    return id;
  }
  while (!std::ifstream(path, std::ios::binary).read(id.internal, sizeof id.internal)) usleep(20000);
  return id;
}

// RANK and WORLD_SIZE come from the environment.
struct Ranks {
  int rank = atoi(getenv("RANK")), world = atoi(getenv("WORLD_SIZE"));
  ncclComm_t all;

  explicit Ranks(const char* id_file) {
    ncclUniqueId id = common_id(id_file, rank);
    CUDA(cudaSetDevice(rank));
    NCCL(ncclCommInitRank(&all, world, id, rank));
  }
};
