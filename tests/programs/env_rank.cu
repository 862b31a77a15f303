// Data-parallel averaging with the environment a launcher sets: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT.
// The NCCL id goes from rank 0 to the others over TCP. Every round the weights are averaged and saved; at the end all
// ranks read back what was saved.
//
// usage: env_rank DIR NAME WEIGHTS ROUNDS [all]      all: every rank saves, not rank 0 alone
#include <arpa/inet.h>
#include <cuda_runtime.h>
#include <errno.h>
#include <fcntl.h>
#include <nccl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define OK(call, good, text)                                              \
  do {                                                                    \
    auto rc_ = (call);                                                    \
    if (rc_ != (good)) {                                                  \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, text); \
      exit(EXIT_FAILURE);                                                 \
    }                                                                     \
  } while (0)
#define CUDA(call) OK(call, cudaSuccess, cudaGetErrorString(rc_))
#define NCCL(call) OK(call, ncclSuccess, ncclGetErrorString(rc_))
#define SYS(call)                                   \
  do {                                              \
    if ((call) < 0) { perror(#call); exit(EXIT_FAILURE); } \
  } while (0)

static int env_int(const char* name) {
  const char* v = getenv(name);
  if (!v) { fprintf(stderr, "%s is not set\n", name); exit(EXIT_FAILURE); }
  return atoi(v);
}

static void send_all(int fd, const void* data, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t n = send(fd, (const char*)data + done, size - done, 0);
    SYS(n);
    done += n;
  }
}

static void recv_all(int fd, void* data, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t n = recv(fd, (char*)data + done, size - done, 0);
    SYS(n);
    if (n == 0) { fprintf(stderr, "rank 0 went away\n"); exit(EXIT_FAILURE); }
    done += n;
  }
}

static void exchange_id(ncclUniqueId* id, int rank, int world) {
  struct sockaddr_in addr = {};
  addr.sin_family = AF_INET;
  addr.sin_port = htons(env_int("MASTER_PORT"));
  inet_pton(AF_INET, getenv("MASTER_ADDR"), &addr.sin_addr);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  SYS(fd);
  if (rank == 0) {
    int on = 1;
    SYS(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
    SYS(bind(fd, (struct sockaddr*)&addr, sizeof addr));
    SYS(listen(fd, world));
    for (int i = 1; i < world; i++) {
      int peer = accept(fd, NULL, NULL);
      SYS(peer);
      send_all(peer, id, sizeof *id);
      close(peer);
    }
  } else {
    while (connect(fd, (struct sockaddr*)&addr, sizeof addr) < 0) {
      if (errno != ECONNREFUSED) { perror("connect"); exit(EXIT_FAILURE); }
      close(fd);
      usleep(50000);
      SYS(fd = socket(AF_INET, SOCK_STREAM, 0));
    }
    recv_all(fd, id, sizeof *id);
  }
  close(fd);
}

__global__ void perturb(float* w, int n, int seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) w[i] += 1e-3f * ((i * 31 + seed) % 11);
}

static void save(const char* path, const float* weights, size_t n, int round) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  SYS(fd);
  SYS(write(fd, &round, sizeof round));
  SYS(write(fd, weights, n * sizeof *weights));
  SYS(fsync(fd));
  close(fd);
}

int main(int argc, char** argv) {
  if (argc < 5) {
    fprintf(stderr, "usage: %s DIR NAME WEIGHTS ROUNDS [all]\n", argv[0]);
    return 2;
  }
  const char *dir = argv[1], *name = argv[2];
  int n = atoi(argv[3]), rounds = atoi(argv[4]);
  bool all = argc > 5 && !strcmp(argv[5], "all");
  int rank = env_int("RANK"), world = env_int("WORLD_SIZE");

  ncclUniqueId id;
  if (rank == 0) NCCL(ncclGetUniqueId(&id));
  exchange_id(&id, rank, world);
  CUDA(cudaSetDevice(env_int("LOCAL_RANK")));
  ncclComm_t comm;
  NCCL(ncclCommInitRank(&comm, world, id, rank));
  cudaStream_t stream;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

  float *w, *host;
  size_t bytes = n * sizeof(float);
  CUDA(cudaMalloc((void**)&w, bytes));
  CUDA(cudaMallocHost((void**)&host, bytes));
  for (int i = 0; i < n; i++) host[i] = rank + i % 5;
  CUDA(cudaMemcpyAsync(w, host, bytes, cudaMemcpyHostToDevice, stream));
  NCCL(ncclBroadcast(w, w, n, ncclFloat, 0, comm, stream));

  mkdir(dir, 0755);
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  for (int round = 0; round < rounds; round++) {
    perturb<<<(n + 127) / 128, 128, 0, stream>>>(w, n, rank * rounds + round);
    NCCL(ncclAllReduce(w, w, n, ncclFloat, ncclAvg, comm, stream));
    CUDA(cudaMemcpyAsync(host, w, bytes, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    if (all || rank == 0) save(path, host, n, round);
  }

  int* token;
  CUDA(cudaMalloc((void**)&token, sizeof *token));
  NCCL(ncclAllReduce(token, token, 1, ncclInt, ncclMax, comm, stream));
  CUDA(cudaStreamSynchronize(stream));

  int round, fd = open(path, O_RDONLY);
  SYS(fd);
  float* back = (float*)malloc(bytes);
  bool same = read(fd, &round, sizeof round) == sizeof round && read(fd, back, bytes) == (ssize_t)bytes &&
              round == rounds - 1 && !memcmp(back, host, bytes);
  close(fd);
  printf("rank %d: loss %.6f, read back %s\n", rank, back[0], same ? "equal" : "DIFFERENT");

  NCCL(ncclCommFinalize(comm));
  NCCL(ncclCommDestroy(comm));
  return same ? 0 : 1;
}
