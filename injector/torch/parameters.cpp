// Of each pass some of the parameters that it gives gradients to are kept, with their versions.
#include "injector/torch/parameters.h"

#include <string.h>

#include "injector/core/safe_read.h"
#include "injector/torch/group_names.h"
#include "injector/torch/handlers.h"
#include "injector/torch/profiler_scopes.h"
#include "injector/torch/tensors.h"

namespace ddpscope::injector::torch {
namespace {

// c10::VariableVersion of a tensor: the object that its views share, and the count in it.
struct Version {
  std::uintptr_t counter;
  std::uint32_t count;
};

struct Parameter {
  std::uintptr_t tensor;  // c10::TensorImpl
  Version version;
};

// Of the last pass: what was given gradients earlier may be freed. A step writes all parameters of a model,
// so that some are enough; where a pass goes through two models, the first are of one and the last of the
// other.
constexpr std::uint32_t kFirst = 8, kLast = 8;
Parameter parameters[kFirst + kLast];
std::uint32_t known;  // __atomic; of this pass, also those whose place was given to others

// Passes since one that found no gradients, that one counted: those whose gradients add up. 0: not known.
std::uint32_t adding_up;  // __atomic

// Programs whose steps are named are only looked at again after so many passes without one.
constexpr std::uint32_t kManyPasses = 64;
std::uint32_t passes_unnamed = kManyPasses;  // __atomic; since a named step

// torch::autograd::AccumulateGrad: `variable` lies at 392 (1.13), 464 (2.15) or 472 (2.1 to 2.9).
constexpr std::size_t kFirstPlace = 384, kPlaces = 13;
constexpr int kVotesNeeded = 3;
constexpr int kUndecided = -1, kNowhere = -2;
constexpr std::uint32_t kTries = 64;
int votes[kPlaces];      // __atomic
int place = kUndecided;  // __atomic
std::uint32_t tries;     // __atomic

bool is_looking() {
  return __atomic_load_n(&passes_unnamed, __ATOMIC_RELAXED) >= kManyPasses &&
         __atomic_load_n(&place, __ATOMIC_RELAXED) != kNowhere;
}

void decide(int where) {
  int expected = kUndecided;
  __atomic_compare_exchange_n(&place, &expected, where, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

// Of TensorImpl: storage_, autograd_meta_, extra_meta_, version_counter_ follow its header.
bool read_version(std::uintptr_t tensor, std::size_t header, Version* out) {
  return read_safely(tensor + header + 24, &out->counter, sizeof(out->counter)) && out->counter &&
         read_safely(out->counter + header, &out->count, sizeof(out->count));
}

// Of torch::autograd::AutogradMeta: a table of functions, a std::string of the older or the newer kind, then
// grad_. A gradient that there is not is a tensor of its own, which nobody holds elements for.
bool has_gradient(std::uintptr_t tensor, std::size_t header, bool* known_to_have) {
  std::uintptr_t meta = 0, gradient = 0;
  std::size_t offset = has_old_strings() ? 16 : 40;
  *known_to_have = read_safely(tensor + header + 8, &meta, sizeof(meta)) && meta &&
                   read_safely(meta + offset, &gradient, sizeof(gradient)) && gradient;
  return *known_to_have && is_tensor(gradient);
}

// The only place at which there is a tensor; votes for it.
std::uintptr_t find_variable(std::uintptr_t node) {
  if (__atomic_add_fetch(&tries, 1, __ATOMIC_RELAXED) > kTries) decide(kNowhere);
  std::uintptr_t words[kPlaces];
  if (!read_safely(node + kFirstPlace, words, sizeof(words))) return 0;
  int found = -1;
  for (int i = 0; i < static_cast<int>(kPlaces); ++i) {
    if (!is_tensor(words[i])) continue;
    if (found >= 0) return 0;
    found = i;
  }
  if (found < 0) return 0;
  if (__atomic_add_fetch(&votes[found], 1, __ATOMIC_RELAXED) >= kVotesNeeded) decide(found);
  return words[found];
}

std::uintptr_t variable_of(std::uintptr_t node) {
  int decided = __atomic_load_n(&place, __ATOMIC_RELAXED);
  if (decided < 0) return find_variable(node);
  std::uintptr_t variable = 0;
  read_safely(node + kFirstPlace + 8 * static_cast<std::size_t>(decided), &variable, sizeof(variable));
  return is_tensor(variable) ? variable : 0;
}

// Of the first parameter of a pass.
void note_gradient(std::uintptr_t tensor, std::size_t header) {
  bool read = false;
  bool adds = has_gradient(tensor, header, &read);
  std::uint32_t before = __atomic_load_n(&adding_up, __ATOMIC_RELAXED);
  __atomic_store_n(&adding_up, !read ? 0 : !adds ? 1 : before ? before + 1 : 0, __ATOMIC_RELAXED);
}

// AccumulateGrad::apply(gradients), with a hidden result, in the thread that runs the pass: once a parameter.
void enter_gradient(HookedCall& call) {
  if (!is_looking()) return;
  const Layout* known_layout = layout();
  if (!known_layout) return;
  Parameter parameter{variable_of(call.argument(Argument::kThis)), {}};
  if (!parameter.tensor || !read_version(parameter.tensor, known_layout->header, &parameter.version)) return;
  std::uint32_t index = __atomic_fetch_add(&known, 1, __ATOMIC_ACQ_REL);
  if (index == 0) note_gradient(parameter.tensor, known_layout->header);
  parameters[index < kFirst ? index : kFirst + index % kLast] = parameter;
}

// Whether one of the passes' parameters was written since. Where one was freed, and another was made in its
// place, that may seem so.
bool has_changed(const Parameter& before, std::size_t header) {
  constexpr std::uint32_t kMostWrites = 1u << 20;  // between two passes
  Version now{};
  if (!is_tensor(before.tensor) || !read_version(before.tensor, header, &now)) return false;
  return now.counter == before.version.counter && now.count != before.version.count &&
         now.count - before.version.count < kMostWrites;
}

bool have_changed(std::uint32_t count) {
  const Layout* known_layout = layout();
  for (std::uint32_t i = 0; known_layout && i < count && i < kFirst + kLast; ++i)
    if (has_changed(parameters[i], known_layout->header)) return true;
  return false;
}

}  // namespace

void note_named_step() { __atomic_store_n(&passes_unnamed, 0u, __ATOMIC_RELAXED); }

// A step that is given a closure makes passes, and is one step.
void note_pass() {
  if (!is_looking() && !is_in_named_step()) __atomic_fetch_add(&passes_unnamed, 1, __ATOMIC_RELAXED);
}

void find_update() {
  std::uint32_t count = __atomic_exchange_n(&known, 0u, __ATOMIC_ACQ_REL);
  if (!count || !is_looking() || is_in_named_step() || !have_changed(count)) return;
  std::uint32_t passes = __atomic_exchange_n(&adding_up, 0u, __ATOMIC_RELAXED);
  end(begin<Call::parameters_updated>(Weight::kFollows, {passes, 0, 0, 0}, Stack::kTaken));
}

const Handler handlers::parameter_gradient{enter_gradient, nullptr};

}  // namespace ddpscope::injector::torch
