// The training steps of a process as PyTorch's own calls show them: backward passes up to an optimizer's
// step, whose gradients each adds to, and which of them it ended with a reduction.
#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "collector/model/job.h"

namespace ddpscope::patterns {

// What reduces gradients: a reducer of DistributedDataParallel, numbered in its process from 1, or FSDP as a
// whole.
using Reducer = std::uint32_t;
constexpr Reducer kSharded = 0;

// A call of backward() that adds to gradients.
struct BackwardPass {
  model::EventRef event;
  std::int64_t begin_ns, end_ns;
  std::vector<Reducer> given;    // whose parameters it gave gradients, each once, ascending
  std::vector<Reducer> reduced;  // likewise, who then reduced them
  std::uint64_t bytes = 0;       // that they reduced with other ranks, as far as it is known who reduced
  bool through_wrapper = false;  // a forward of DistributedDataParallel came since the pass before
  // The optimizer runs in it, before a reducer has begun, and none behind it: what is reduced then has been
  // used. Nothing counts as reduced.
  bool used_before = false;
};

// The passes whose gradients one optimizer step uses: those before the last zero_grad are not among them.
struct FrameworkStep {
  model::EventRef optimizer;  // or, if no optimizer is named, where parameters were found changed
  std::int64_t begin_ns, end_ns;
  std::vector<BackwardPass> passes;  // one or more
  bool is_named;                     // by an optimizer
  // What the program itself exchanged with other ranks, outside of a wrapper's forward: anything of more than
  // a few elements between the first pass and the optimizer; floating-point numbers behind it, up to the next
  // step's first pass, but for those that are only gathered.
  bool exchanged_within = false;
  std::uint64_t bytes_behind = 0;
};

// What a process reduces on one group by calls of its own: no reducer, and not FSDP.
struct OwnReductions {
  // The first between the last pass of a step and the end of its optimizer, of floating-point numbers, more
  // than a few (training_steps.h); ascending.
  std::vector<std::int64_t> times_ns;
  std::size_t in_pass = 0;  // in how many of these steps a pass reduced on this group, too

  // What parts of a model exchange within each pass are activations, and what their ranks reduce after it is
  // for parameters that all parts have.
  bool of_parts() const { return 2 * in_pass > times_ns.size(); }
};

struct FrameworkSteps {
  std::vector<FrameworkStep> steps;
  std::map<std::uint64_t, OwnReductions> own_reductions;  // by the group's id
  // When each process group, by its id, first carried gradients of a pass; ascending.
  std::map<std::uint64_t, std::vector<std::int64_t>> carried;
  std::vector<Reducer> reducers;  // that reduced something, ascending
  bool has_peers = false;         // it joined a group, or a communicator, with other ranks
  // When the process last exchanged what may be gradients or parameters with other ranks, without a
  // reducer, and not in a wrapper's forward: more than a few elements, within a step of any kind (they may be
  // compressed), between two steps floating-point ones that are not only gathered.
  std::int64_t last_exchange_ns = std::numeric_limits<std::int64_t>::min();
  std::optional<model::EventRef> discarded;  // the first reducer that ended before any pass
  std::optional<BackwardPass> broken;        // the last pass of all, if it threw, or had no end
};

// Three or more steps that use gradients which a reducer cares for that never reduces any; or all steps of a
// process whose only wrappers were given up before the first. FSDP is none of these: it may have groups of
// one rank.
struct UnreducedSteps {
  std::vector<const FrameworkStep*> steps;  // of FrameworkSteps, which has to outlive them
  bool discarded;
  bool exchanged;  // since the first of them: the program may reduce, or average parameters, by itself
};
std::vector<UnreducedSteps> find_unreduced_steps(const FrameworkSteps& found);

// By process: nothing where several threads call backward() at a time. Of steps that a compiled graph or the
// program itself makes (param.add_(grad)) it is seen that parameters have changed when the next pass, or
// zero_grad, begins; where the program writes past their version counters (param.data), nothing.
std::vector<FrameworkSteps> find_framework_steps(const model::Job& job);
FrameworkSteps find_framework_steps(const model::Job& job, std::uint32_t process);

}  // namespace ddpscope::patterns
