// A perceptron of two layers, data-parallel, by cuBLAS, cuRAND and NCCL: it learns what a random matrix does.
// Its own kernels come with CPU bodies, so its loss is real without a GPU.
//
// usage: cublas_training IDFILE STEPS [healthy|skip RANK|never]
//   skip: one rank leaves out the reductions of the step in the middle; never: no rank reduces
// Prints the loss of the first and of the last step.
#include <cublas_v2.h>
#include <curand.h>
#include <math.h>

#include <string>

#include "ranks.h"

#define CUBLAS(call) CHECK(call, CUBLAS_STATUS_SUCCESS)
#define CURAND(call) CHECK(call, CURAND_STATUS_SUCCESS)

static const int kInputs = 16, kHidden = 64, kOutputs = 8, kBatch = 32;
static const float kRate = 0.02f;

extern "C" __global__ void relu_forward(float* values, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = fmaxf(values[i], 0);
}
extern "C" __global__ void relu_backward(const float* values, float* gradients, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count && values[i] <= 0) gradients[i] = 0;
}

extern "C" __global__ void sgd_update(float* weights, const float* gradients, float rate, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) weights[i] -= rate * gradients[i];
}

extern "C" void standin_cpu_relu_forward(void** args, const unsigned[3], const unsigned[3]) {
  float* values = *(float**)args[0];
  for (int i = 0; i < *(int*)args[1]; i++) values[i] = fmaxf(values[i], 0);
}
extern "C" const size_t standin_cpu_relu_forward_sizes[] = {sizeof(float*), sizeof(int), 0};
extern "C" void standin_cpu_relu_backward(void** args, const unsigned[3], const unsigned[3]) {
  const float* values = *(const float**)args[0];
  float* gradients = *(float**)args[1];
  for (int i = 0; i < *(int*)args[2]; i++)
    if (values[i] <= 0) gradients[i] = 0;
}
extern "C" const size_t standin_cpu_relu_backward_sizes[] = {sizeof(float*), sizeof(float*), sizeof(int), 0};
extern "C" void standin_cpu_sgd_update(void** args, const unsigned[3], const unsigned[3]) {
  float* weights = *(float**)args[0];
  const float* gradients = *(const float**)args[1];
  for (int i = 0; i < *(int*)args[3]; i++) weights[i] -= *(float*)args[2] * gradients[i];
}
extern "C" const size_t standin_cpu_sgd_update_sizes[] = {sizeof(float*), sizeof(float*), sizeof(float),
                                                          sizeof(int), 0};

struct Trainer {
  Ranks ranks;
  cublasHandle_t blas;
  curandGenerator_t data;  // on the host: batches are copied to the device
  cudaStream_t stream;
  float* batch;
  float *teacher = floats(kOutputs * kInputs), *input = floats(kInputs * kBatch),
        *hidden = floats(kHidden * kBatch), *output = floats(kOutputs * kBatch),
        *hidden_gradient = floats(kHidden * kBatch);
  float *first = floats(kHidden * kInputs), *second = floats(kOutputs * kHidden);
  float *first_gradient = floats(kHidden * kInputs), *second_gradient = floats(kOutputs * kHidden);

  static float* floats(size_t count) {
    float* pointer;
    CUDA(cudaMalloc((void**)&pointer, count * sizeof(float)));
    return pointer;
  }

  explicit Trainer(const char* id_file) : ranks(id_file) {
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUBLAS(cublasCreate(&blas));
    CUBLAS(cublasSetStream(blas, stream));
    curandGenerator_t weights;
    CURAND(curandCreateGenerator(&weights, CURAND_RNG_PSEUDO_PHILOX4_32_10));
    CURAND(curandSetStream(weights, stream));
    CURAND(curandSetPseudoRandomGeneratorSeed(weights, 7));
    CURAND(curandGenerateNormal(weights, teacher, kOutputs * kInputs, 0, 1));
    CURAND(curandGenerateNormal(weights, first, kHidden * kInputs, 0, sqrtf(2.0f / kInputs)));
    CURAND(curandGenerateNormal(weights, second, kOutputs * kHidden, 0, sqrtf(1.0f / kHidden)));
    CUDA(cudaStreamSynchronize(stream));
    CURAND(curandDestroyGenerator(weights));
    CUDA(cudaMallocHost((void**)&batch, kInputs * kBatch * sizeof(float)));
    CURAND(curandCreateGeneratorHost(&data, CURAND_RNG_PSEUDO_DEFAULT));
    CURAND(curandSetPseudoRandomGeneratorSeed(data, 100 + ranks.rank));
    for (float* parameters : {first, second})
      NCCL(ncclBroadcast(parameters, parameters, parameters == first ? kHidden * kInputs : kOutputs * kHidden,
                         ncclFloat, 0, ranks.all, stream));
  }

  // c = alpha op(a) op(b) + beta c
  void gemm(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, float alpha, const float* a,
            const float* b, float beta, float* c) {
    CUBLAS(cublasSgemm(blas, ta, tb, m, n, k, &alpha, a, ta == CUBLAS_OP_N ? m : k, b,
                       tb == CUBLAS_OP_N ? k : n, &beta, c, m));
  }

  float forward() {
    CURAND(curandGenerateNormal(data, batch, kInputs * kBatch, 0, 1));
    CUDA(cudaMemcpyAsync(input, batch, kInputs * kBatch * sizeof(float), cudaMemcpyHostToDevice, stream));
    gemm(CUBLAS_OP_N, CUBLAS_OP_N, kHidden, kBatch, kInputs, 1, first, input, 0, hidden);
    relu_forward<<<8, 256, 0, stream>>>(hidden, kHidden * kBatch);
    gemm(CUBLAS_OP_N, CUBLAS_OP_N, kOutputs, kBatch, kHidden, 1, second, hidden, 0, output);
    gemm(CUBLAS_OP_N, CUBLAS_OP_N, kOutputs, kBatch, kInputs, -1, teacher, input, 1, output);  // the error
    float norm;
    CUBLAS(cublasSnrm2(blas, kOutputs * kBatch, output, 1, &norm));
    return norm * norm / kBatch;
  }

  void backward() {
    gemm(CUBLAS_OP_N, CUBLAS_OP_T, kOutputs, kHidden, kBatch, 2.0f / kBatch, output, hidden, 0,
         second_gradient);
    gemm(CUBLAS_OP_T, CUBLAS_OP_N, kHidden, kBatch, kOutputs, 2.0f / kBatch, second, output, 0,
         hidden_gradient);
    relu_backward<<<8, 256, 0, stream>>>(hidden, hidden_gradient, kHidden * kBatch);
    gemm(CUBLAS_OP_N, CUBLAS_OP_T, kHidden, kInputs, kBatch, 1, hidden_gradient, input, 0, first_gradient);
  }

  void reduce() {
    NCCL(ncclAllReduce(second_gradient, second_gradient, kOutputs * kHidden, ncclFloat, ncclAvg, ranks.all,
                       stream));
    NCCL(ncclAllReduce(first_gradient, first_gradient, kHidden * kInputs, ncclFloat, ncclAvg, ranks.all,
                       stream));
  }

  void update() {
    sgd_update<<<2, 256, 0, stream>>>(second, second_gradient, kRate, kOutputs * kHidden);
    sgd_update<<<4, 256, 0, stream>>>(first, first_gradient, kRate, kHidden * kInputs);
  }
};

int main(int argc, char** argv) {
  int steps = atoi(argv[2]);
  std::string mode = argc > 3 ? argv[3] : "healthy";
  Trainer trainer(argv[1]);
  int skipping = mode == "skip" && atoi(argv[4]) == trainer.ranks.rank ? steps / 2 : -1;
  for (int step = 0; step < steps; step++) {
    float loss = trainer.forward();
    if (step == 0 || step == steps - 1) printf("rank %d step %d loss %.4f\n", trainer.ranks.rank, step, loss);
    trainer.backward();
    if (mode != "never" && step != skipping) trainer.reduce();
    trainer.update();
  }
  fflush(stdout);
  CUDA(cudaStreamSynchronize(trainer.stream));
  CUBLAS(cublasDestroy(trainer.blas));
  NCCL(ncclCommDestroy(trainer.ranks.all));
  return 0;
}
