// One process drives all devices: bus bandwidth of ncclAllReduce over a range of sizes, results checked.
// usage: all_devices NDEV MINCOUNT MAXCOUNT ITERS [DEVICE COUNT]
// The last two give one device another element count in the last round (a slip of the kind "buffers were resized").
#include <cuda_runtime.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>

#define MAXDEV 8

#define CUDACHECK(cmd) do {                                                              \
    cudaError_t err = (cmd);                                                             \
    if (err != cudaSuccess) {                                                            \
        printf("cuda failure %s:%d '%s'\n", __FILE__, __LINE__, cudaGetErrorString(err)); \
        exit(1);                                                                         \
    }                                                                                    \
} while (0)

#define NCCLCHECK(cmd) do {                                                              \
    ncclResult_t res = (cmd);                                                            \
    if (res != ncclSuccess) {                                                            \
        printf("nccl failure %s:%d '%s'\n", __FILE__, __LINE__, ncclGetErrorString(res)); \
        exit(1);                                                                         \
    }                                                                                    \
} while (0)

static int ndev;
static ncclComm_t comms[MAXDEV];
static cudaStream_t streams[MAXDEV];
static cudaEvent_t started, stopped;
static float *sendbuff[MAXDEV], *recvbuff[MAXDEV];

static void allreduce(size_t count, int odd_device, size_t odd_count)
{
    NCCLCHECK(ncclGroupStart());
    for (int i = 0; i < ndev; i++) {
        size_t n = i == odd_device ? odd_count : count;
        NCCLCHECK(ncclAllReduce(sendbuff[i], recvbuff[i], n, ncclFloat, ncclSum, comms[i], streams[i]));
    }
    NCCLCHECK(ncclGroupEnd());
}

static void wait_for_all(void)
{
    for (int i = 0; i < ndev; i++) {
        CUDACHECK(cudaSetDevice(i));
        CUDACHECK(cudaStreamSynchronize(streams[i]));
    }
}

static int wrong_elements(size_t count, float *host)
{
    int wrong = 0;
    float expected = ndev * (ndev + 1) / 2.0f;
    for (int i = 0; i < ndev; i++) {
        CUDACHECK(cudaSetDevice(i));
        CUDACHECK(cudaMemcpy(host, recvbuff[i], count * sizeof(float), cudaMemcpyDeviceToHost));
        for (size_t j = 0; j < count; j++)
            wrong += host[j] != expected;
    }
    return wrong;
}

int main(int argc, char *argv[])
{
    if (argc != 5 && argc != 7) {
        fprintf(stderr, "usage: %s NDEV MINCOUNT MAXCOUNT ITERS [DEVICE COUNT]\n", argv[0]);
        return 2;
    }
    ndev = atoi(argv[1]);
    size_t mincount = atol(argv[2]), maxcount = atol(argv[3]);
    int iters = atoi(argv[4]);
    int odd_device = argc == 7 ? atoi(argv[5]) : -1;
    size_t odd_count = argc == 7 ? atol(argv[6]) : 0;
    int devs[MAXDEV], wrong = 0;

    float *host = (float *)malloc(maxcount * sizeof(float));
    for (int i = 0; i < ndev; i++) {
        devs[i] = i;
        CUDACHECK(cudaSetDevice(i));
        CUDACHECK(cudaMalloc((void **)&sendbuff[i], maxcount * sizeof(float)));
        CUDACHECK(cudaMalloc((void **)&recvbuff[i], maxcount * sizeof(float)));
        for (size_t j = 0; j < maxcount; j++)
            host[j] = i + 1;
        CUDACHECK(cudaMemcpy(sendbuff[i], host, maxcount * sizeof(float), cudaMemcpyHostToDevice));
        CUDACHECK(cudaStreamCreate(&streams[i]));
    }
    CUDACHECK(cudaSetDevice(0));
    CUDACHECK(cudaEventCreate(&started));
    CUDACHECK(cudaEventCreate(&stopped));
    NCCLCHECK(ncclCommInitAll(comms, ndev, devs));

    printf("%12s %10s\n", "count", "wrong");
    for (size_t count = mincount; count <= maxcount; count *= 4) {
        int last = count * 4 > maxcount;
        for (int i = 0; i < 2; i++)
            allreduce(count, -1, 0);
        wait_for_all();
        CUDACHECK(cudaSetDevice(0));
        CUDACHECK(cudaEventRecord(started, streams[0]));
        for (int i = 0; i < iters; i++)
            allreduce(count, last && i == iters - 1 ? odd_device : -1, odd_count);
        CUDACHECK(cudaSetDevice(0));
        CUDACHECK(cudaEventRecord(stopped, streams[0]));
        wait_for_all();
        float ms;
        CUDACHECK(cudaEventElapsedTime(&ms, started, stopped));
        int bad = wrong_elements(count, host);
        printf("%12zu %10d\n", count, bad);
        fprintf(stderr, "%zu elements: %.3f GB/s\n", count, 2.0 * (ndev - 1) / ndev * count * 4 * iters / ms / 1e6);
        wrong += bad;
    }

    for (int i = 0; i < ndev; i++) {
        NCCLCHECK(ncclCommDestroy(comms[i]));
        CUDACHECK(cudaSetDevice(i));
        CUDACHECK(cudaFree(sendbuff[i]));
        CUDACHECK(cudaFree(recvbuff[i]));
        CUDACHECK(cudaStreamDestroy(streams[i]));
    }
    free(host);
    printf("%s\n", wrong ? "FAILED" : "OK");
    return wrong != 0;
}
