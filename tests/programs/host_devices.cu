// A process a host that drives several devices, as NCCL's manual shows it (example 3): the ranks of all
// devices are joined within one group, and every collective is called for all of them within one.
//
// usage: host_devices ID_FILE NODE NODES DEVICES STEPS FIRST_RANK [RANK COUNT]
//
// FIRST_RANK: of this host's devices, which are numbered from there. The last two give one rank another
// element count in the last step.
#include <vector>

#include "ranks.h"

constexpr size_t kMost = 4096;

struct Device {
  ncclComm_t comm;
  cudaStream_t stream;
  float* values;
};

static int first, world, odd_rank = -1;
static size_t odd_count;

static void join(std::vector<Device>& devices, const ncclUniqueId& id) {
  NCCL(ncclGroupStart());
  for (size_t i = 0; i < devices.size(); ++i) {
    CUDA(cudaSetDevice(int(i)));
    NCCL(ncclCommInitRank(&devices[i].comm, world, id, first + int(i)));
  }
  NCCL(ncclGroupEnd());
}

static void reduce(std::vector<Device>& devices, size_t count, bool last) {
  NCCL(ncclGroupStart());
  for (size_t i = 0; i < devices.size(); ++i) {
    size_t its = last && first + int(i) == odd_rank ? odd_count : count;
    NCCL(ncclAllReduce(devices[i].values, devices[i].values, its, ncclFloat, ncclSum, devices[i].comm,
                       devices[i].stream));
  }
  NCCL(ncclGroupEnd());
  for (size_t i = 0; i < devices.size(); ++i) {
    CUDA(cudaSetDevice(int(i)));
    CUDA(cudaStreamSynchronize(devices[i].stream));
  }
}

int main(int argc, char** argv) {
  if (argc != 7 && argc != 9) return 2;
  int node = atoi(argv[2]), steps = atoi(argv[5]);
  std::vector<Device> devices(atoi(argv[4]));
  world = atoi(argv[3]) * int(devices.size());
  first = atoi(argv[6]);
  if (argc == 9) odd_rank = atoi(argv[7]), odd_count = size_t(atol(argv[8]));
  ncclUniqueId id = common_id(argv[1], node);
  std::vector<float> ones(kMost, 1);
  for (size_t i = 0; i < devices.size(); ++i) {
    CUDA(cudaSetDevice(int(i)));
    CUDA(cudaStreamCreate(&devices[i].stream));
    CUDA(cudaMalloc(&devices[i].values, kMost * sizeof(float)));
    CUDA(cudaMemcpy(devices[i].values, ones.data(), kMost * sizeof(float), cudaMemcpyHostToDevice));
  }
  join(devices, id);
  for (int step = 0; step < steps; ++step) reduce(devices, kMost, step == steps - 1);
  float sum = 0;
  CUDA(cudaMemcpy(&sum, devices.back().values, sizeof sum, cudaMemcpyDeviceToHost));
  for (const Device& device : devices) NCCL(ncclCommDestroy(device.comm));
  printf("%g\n", sum);
  return 0;
}
