// A perceptron of three layers, data-parallel, whose step is a CUDA graph, captured once and launched again
// and again.
//
// usage: graph_training IDFILE STEPS inside|outside|accumulate|conditional [healthy|copies|fewer RANK STEP|
//        half RANK|skip RANK]
//   conditional: likewise, but the reductions are the body of a conditional node; skip: on one rank it does
//   not run inside: forward, backward, the reductions (on a stream of their own) and the update are one graph
//   outside: forward and backward are a graph; reductions and the update are not
//   accumulate: four micro-batches a step, each a graph; the last has the reductions and the update
//   copies: every rank writes the same checkpoint; fewer: one rank ends its loop before that step;
//   half: one rank reduces half of each gradient
#include <vector>

#include "layers.h"

static const int kMicroBatches = 4;

__global__ void sgd_update(float* w, const float* dw, int n, float rate) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) w[i] -= rate * dw[i];
}

struct Trainer {
  Ranks ranks;
  cudaStream_t compute, communication;
  cudaEvent_t ready;
  std::vector<Layer> layers;
  Batch batch;
  float* loss = device_floats(1);
  int part = 1;              // of each gradient that is reduced: one part in so many
  bool conditional = false;  // whether the reductions are a body of their own
  unsigned condition = 1;

  explicit Trainer(const char* id_file) : ranks(id_file), batch(256, 1 + ranks.rank) {
    CUDA(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&communication, cudaStreamNonBlocking));
    CUDA(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    layers = {Layer(256, 512), Layer(512, 128), Layer(128, 16)};
    for (Layer& layer : layers)
      NCCL(
          ncclBroadcast(layer.weights, layer.weights, layer.count(), ncclFloat, 0, ranks.all, communication));
    CUDA(cudaStreamSynchronize(communication));
  }

  void order(cudaStream_t first, cudaStream_t second) {
    CUDA(cudaEventRecord(ready, first));
    CUDA(cudaStreamWaitEvent(second, ready, 0));
  }

  void all_reduce(const Layer& layer) {
    NCCL(ncclAllReduce(layer.gradients, layer.gradients, layer.count() / part, ncclFloat, ncclAvg, ranks.all,
                       communication));
  }
  void reduce(const Layer& layer) {
    order(compute, communication);
    all_reduce(layer);
  }

  void forward_backward(bool reduces) {
    const float* x = batch.data;
    for (Layer& layer : layers) x = layer.forward(x, compute);
    Layer& top = layers.back();
    loss_forward_backward<<<blocks(kBatch * top.outputs), kThreads, 0, compute>>>(top.y, top.dy, loss,
                                                                                  top.outputs);
    const float* dy = top.dy;
    for (size_t i = layers.size(); i-- > 0;) {
      dy = layers[i].backward(i ? layers[i - 1].y : batch.data, dy, compute);
      if (reduces && !conditional) reduce(layers[i]);
    }
    if (reduces && conditional) return reduce_in_body();
    if (reduces) order(communication, compute);
  }

  void reduce_in_body() {
    cudaStreamCaptureStatus status;
    cudaGraph_t graph, body;
    const cudaGraphNode_t* before;
    size_t count;
    CUDA(cudaStreamGetCaptureInfo(compute, &status, nullptr, &graph, &before, nullptr, &count));
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.type = cudaGraphCondTypeIf;
    params.conditional.size = 1;
    CUDA(cudaGraphConditionalHandleCreate(&params.conditional.handle, graph, condition,
                                          cudaGraphCondAssignDefault));
    cudaGraphNode_t node;
    CUDA(cudaGraphAddNode(&node, graph, before, nullptr, count, &params));
    CUDA(cudaStreamBeginCaptureToGraph(communication, params.conditional.phGraph_out[0], nullptr, nullptr, 0,
                                       cudaStreamCaptureModeGlobal));
    for (const Layer& layer : layers) all_reduce(layer);
    CUDA(cudaStreamEndCapture(communication, &body));
    CUDA(cudaStreamUpdateCaptureDependencies(compute, &node, nullptr, 1, cudaStreamSetCaptureDependencies));
  }

  void update() {
    for (Layer& layer : layers) {
      sgd_update<<<blocks(layer.count()), kThreads, 0, compute>>>(layer.weights, layer.gradients,
                                                                  layer.count(), 0.01f);
      CUDA(cudaMemsetAsync(layer.gradients, 0, layer.bytes(), compute));
    }
  }

  cudaGraphExec_t capture(bool reduces, bool updates) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CUDA(cudaStreamBeginCapture(compute, cudaStreamCaptureModeGlobal));
    forward_backward(reduces);
    if (updates) update();
    CUDA(cudaStreamEndCapture(compute, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphDestroy(graph));
    return exec;
  }

  void launch(cudaGraphExec_t exec) {
    batch.next(compute);
    CUDA(cudaGraphLaunch(exec, compute));
  }

  void write_checkpoint() {
    std::vector<float> weights(layers[0].count());
    CUDA(cudaMemcpy(weights.data(), layers[0].weights, layers[0].bytes(), cudaMemcpyDeviceToHost));
    std::ofstream("checkpoint.bin", std::ios::binary)
        .write(reinterpret_cast<const char*>(weights.data()), static_cast<long>(layers[0].bytes()));
  }
};

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const std::string where = argv[3], what = argc > 4 ? argv[4] : "healthy";
  Trainer trainer(argv[1]);
  const int steps = atoi(argv[2]);
  if (what == "half" && trainer.ranks.rank == atoi(argv[5])) trainer.part = 2;
  trainer.conditional = where == "conditional";
  if (what == "skip" && trainer.ranks.rank == atoi(argv[5])) trainer.condition = 0;
  trainer.batch.next(trainer.compute);
  const bool inside = where == "inside" || trainer.conditional, accumulates = where == "accumulate";
  const cudaGraphExec_t last = trainer.capture(inside || accumulates, inside || accumulates);
  const cudaGraphExec_t before = accumulates ? trainer.capture(false, false) : nullptr;
  for (int step = 1; step <= steps; step++) {
    if (what == "fewer" && trainer.ranks.rank == atoi(argv[5]) && step == atoi(argv[6])) break;
    for (int i = 1; accumulates && i < kMicroBatches; i++) trainer.launch(before);
    trainer.launch(last);
    if (where == "outside") {
      for (size_t i = trainer.layers.size(); i-- > 0;) trainer.reduce(trainer.layers[i]);
      trainer.order(trainer.communication, trainer.compute);
      trainer.update();
    }
    const float loss = read_loss(trainer.loss, trainer.compute);
    if (step % 25 == 0) printf("rank %d step %d: loss %f\n", trainer.ranks.rank, step, loss);
  }
  if (what == "copies" || trainer.ranks.rank == 0) trainer.write_checkpoint();
  return 0;
}
