// PyTorch's process groups and gradient hooks without their work, and the same under names that nobody hooks.
#pragma once
#include "tests/inject/torch_stub.h"

namespace c10d {
struct Reducer {
  void autograd_hook(std::size_t parameter);
};
}  // namespace c10d

namespace ddpscope::bench {

struct BareWork {
  virtual ~BareWork() {}
  virtual bool wait(std::chrono::milliseconds timeout);
};

struct BareGroup {
  virtual ~BareGroup() {}
  virtual c10::intrusive_ptr<BareWork> allreduce(std::vector<at::Tensor>& tensors,
                                                 const c10d::AllreduceOptions& options);
  BareWork work;
};

struct BareReducer {
  void autograd_hook(std::size_t parameter);
};

}  // namespace ddpscope::bench
