// A library with the functions of PyTorch's that the hooks stand in front of. STUB_NUMBER tells two builds of
// it apart.
#include "torch_stub.h"

#include <stdexcept>

namespace c10d {

bool Work::wait(std::chrono::milliseconds) {
  if (throws) throw std::runtime_error("timed out");
  return true;
}

ProcessGroupGloo::ProcessGroupGloo(const c10::intrusive_ptr<Store>&, int, int, c10::intrusive_ptr<Options>) {}
ProcessGroupGloo::~ProcessGroupGloo() {}

c10::intrusive_ptr<Work> ProcessGroupGloo::allreduce(std::vector<at::Tensor>& tensors,
                                                     const AllreduceOptions&) {
  if (tensors.empty()) throw std::invalid_argument("no tensor");
  return &work;
}

c10::intrusive_ptr<Work> ProcessGroupGloo::barrier(const BarrierOptions&) {
  if (inside) inside();
  return &work;
}

}  // namespace c10d

extern "C" int stub_number() { return STUB_NUMBER; }

// By the library's own relocations.
extern "C" int stub_wait_of_this_library() {
  c10d::Work work;
  return work.c10d::Work::wait(std::chrono::milliseconds(0)) ? STUB_NUMBER : 0;
}
