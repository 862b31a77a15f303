// Calls of PyTorch's functions.
#include "tests/bench/instant_torch.h"
#include "tests/bench/measure_calls.h"
#include "tests/bench/timed_calls.h"

using namespace ddpscope::bench;

void time_group_calls(std::uint64_t calls) {
  make_communicator();
  c10d::Store store;
  auto* group = new c10d::ProcessGroupGloo(&store, 0, 1, nullptr);
  auto* bare = new BareGroup;
  StubTensor tensor(64, {1000, 10});
  std::vector<at::Tensor> tensors{{tensor.bytes}};
  c10d::AllreduceOptions options;
  measure(
      calls,
      [&](std::size_t) { group->allreduce(tensors, options).object->wait(std::chrono::milliseconds(0)); },
      [&](std::size_t) { bare->allreduce(tensors, options).object->wait(std::chrono::milliseconds(0)); });
}

void time_gradients(std::uint64_t calls) {
  make_communicator();
  c10d::Reducer reducer;
  BareReducer bare;
  measure(
      calls, [&](std::size_t i) { reducer.autograd_hook(i); }, [&](std::size_t i) { bare.autograd_hook(i); });
}
