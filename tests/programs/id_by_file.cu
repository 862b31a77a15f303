/*
 * Gradient descent on y = sum(w * x) with one process a rank, no launcher: a shell loop starts the ranks, the
 * NCCL id goes through a file.
 *
 *   for r in 0 1 2 3; do ./id_by_file /tmp/id $r 4 20000 3 5 & done; wait
 *
 * usage: id_by_file IDFILE RANK NRANKS WEIGHTS EPOCHS STEPS [SKIPRANK SKIPEPOCH]
 */
#include <cuda_runtime.h>
#include <nccl.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

static int my_rank;

static void check(cudaError_t err, const char *what)
{
    if (err == cudaSuccess) return;
    fprintf(stderr, "[%d] %s: %s\n", my_rank, what, cudaGetErrorString(err));
    exit(1);
}

static void check(ncclResult_t res, const char *what)
{
    if (res == ncclSuccess) return;
    fprintf(stderr, "[%d] %s: %s\n", my_rank, what, ncclGetErrorString(res));
    exit(1);
}

// Written aside and renamed, so that whoever sees the file sees all of it.
static void publish(const char *path, const ncclUniqueId &id)
{
    std::string tmp = std::string(path) + ".part";
    FILE *f = fopen(tmp.c_str(), "wb");
    if (!f || fwrite(&id, sizeof id, 1, f) != 1 || fclose(f) || rename(tmp.c_str(), path)) {
        perror(path);
        exit(1);
    }
}

static ncclUniqueId wait_for(const char *path)
{
    struct stat st;
    while (stat(path, &st) != 0)
        usleep(20000);
    ncclUniqueId id;
    FILE *f = fopen(path, "rb");
    if (!f || fread(&id, sizeof id, 1, f) != 1) {
        perror(path);
        exit(1);
    }
    fclose(f);
    return id;
}

__global__ void descend(float *w, const float *g, float rate, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) w[i] -= rate * g[i];
}

struct Job {
    ncclComm_t comm;
    cudaStream_t stream;
    float *flag;

    void barrier()
    {
        check(ncclAllReduce(flag, flag, 1, ncclFloat, ncclSum, comm, stream), "barrier");
        check(cudaStreamSynchronize(stream), "barrier");
    }
};

int main(int argc, char **argv)
{
    if (argc < 7) {
        fprintf(stderr, "usage: %s IDFILE RANK NRANKS WEIGHTS EPOCHS STEPS [SKIPRANK SKIPEPOCH]\n", argv[0]);
        return 2;
    }
    my_rank = atoi(argv[2]);
    int nranks = atoi(argv[3]), n = atoi(argv[4]), epochs = atoi(argv[5]), steps = atoi(argv[6]);
    int skip_rank = argc > 8 ? atoi(argv[7]) : -1, skip_epoch = argc > 8 ? atoi(argv[8]) : -1;

    ncclUniqueId id;
    if (my_rank == 0) {
        check(ncclGetUniqueId(&id), "ncclGetUniqueId");
        publish(argv[1], id);
    } else {
        id = wait_for(argv[1]);
    }

    int devices;
    check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    check(cudaSetDevice(my_rank % devices), "cudaSetDevice");
    Job job;
    check(ncclCommInitRank(&job.comm, nranks, id, my_rank), "ncclCommInitRank");
    check(cudaStreamCreate(&job.stream), "cudaStreamCreate");
    check(cudaMalloc((void **)&job.flag, sizeof(float)), "cudaMalloc");
    check(cudaMemset(job.flag, 0, sizeof(float)), "cudaMemset");

    std::vector<float> grad(n), sum(n);
    float *w, *g;
    check(cudaMalloc((void **)&w, n * sizeof(float)), "cudaMalloc");
    check(cudaMalloc((void **)&g, n * sizeof(float)), "cudaMalloc");
    check(cudaMemset(w, 0, n * sizeof(float)), "cudaMemset");

    for (int epoch = 0; epoch < epochs; epoch++) {
        double norm = 0;
        for (int step = 0; step < steps; step++) {
            for (int i = 0; i < n; i++) grad[i] = (float)((i + step + my_rank) % 7);
            check(cudaMemcpyAsync(g, grad.data(), n * sizeof(float), cudaMemcpyHostToDevice, job.stream), "copy");
            check(ncclAllReduce(g, g, n, ncclFloat, ncclSum, job.comm, job.stream), "gradients");
            descend<<<(n + 255) / 256, 256, 0, job.stream>>>(w, g, 0.01f, n);
            check(cudaMemcpyAsync(sum.data(), g, n * sizeof(float), cudaMemcpyDeviceToHost, job.stream), "copy");
            check(cudaStreamSynchronize(job.stream), "step");
            norm = 0;
            for (float x : sum) norm += (double)x * x;
        }
        if (my_rank == skip_rank && epoch == skip_epoch) continue;  // nothing to log this time
        job.barrier();
        if (my_rank == 0) printf("epoch %d loss %.1f\n", epoch, norm);
    }

    check(cudaFree(w), "cudaFree");
    check(cudaFree(g), "cudaFree");
    check(cudaFree(job.flag), "cudaFree");
    check(ncclCommDestroy(job.comm), "ncclCommDestroy");
    return 0;
}
