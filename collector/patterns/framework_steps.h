// The training steps of a process as PyTorch's own calls show them: backward passes up to an optimizer's
// step, and which of them DistributedDataParallel ended with a reduction.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/model/job.h"

namespace ddpscope::patterns {

// A call of backward() that adds to gradients.
struct BackwardPass {
  model::EventRef event;
  std::int64_t begin_ns, end_ns;
  std::vector<std::uint64_t> reduced;  // by which reducers (objects of the process), each once, ascending
  std::uint64_t bytes = 0;             // that they reduced with other ranks by PyTorch's process groups
  bool through_wrapper = false;        // a forward of DistributedDataParallel came since the pass before
};

// The passes whose gradients one optimizer step uses: those before the last zero_grad are not among them.
struct FrameworkStep {
  model::EventRef optimizer;
  std::int64_t begin_ns, end_ns;
  std::vector<BackwardPass> passes;  // one or more
};

struct FrameworkSteps {
  std::vector<FrameworkStep> steps;
  std::uint32_t reducers = 0;  // of DistributedDataParallel that reduced something
};

// By process: nothing where several threads call backward() at a time. Steps that a compiled graph or the
// program itself makes (param.add_(grad)) are not seen: their passes count to the next one that is.
std::vector<FrameworkSteps> find_framework_steps(const model::Job& job);

}  // namespace ddpscope::patterns
