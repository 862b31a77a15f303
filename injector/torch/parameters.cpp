// Of each pass some of the parameters that it gives gradients to are kept, with their versions.
#include "injector/torch/parameters.h"

#include <string.h>

#include "injector/core/safe_read.h"
#include "injector/torch/handlers.h"
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

// Of the last pass: what was given gradients earlier may be freed. A step writes all parameters, so that some
// are enough.
constexpr std::uint32_t kParameters = 16;
Parameter parameters[kParameters];
std::uint32_t known;  // __atomic; may be more than there is room for

// Programs whose steps are named are only looked at again after so many passes without one.
constexpr std::uint32_t kManyPasses = 64;
std::uint32_t passes_unnamed = kManyPasses;  // __atomic; since a named step

// torch::autograd::AccumulateGrad: `variable` lies at 392 (1.13), 464 (2.15) or 472 (2.1 to 2.9).
constexpr std::size_t kFirstPlace = 384, kPlaces = 13;
constexpr int kVotesNeeded = 3;
int votes[kPlaces];  // __atomic
int place = -1;      // __atomic; once decided

bool is_looking() { return __atomic_load_n(&passes_unnamed, __ATOMIC_RELAXED) >= kManyPasses; }

// TensorImpl's storage_ follows its header; autograd_meta_, extra_meta_ and version_counter_ follow that.
bool read_version(std::uintptr_t tensor, std::size_t header, Version* out) {
  return read_safely(tensor + header + 24, &out->counter, sizeof(out->counter)) && out->counter &&
         read_safely(out->counter + header, &out->count, sizeof(out->count));
}

// The only place at which there is a tensor; votes for it.
std::uintptr_t find_variable(std::uintptr_t node) {
  std::uintptr_t words[kPlaces];
  if (!read_safely(node + kFirstPlace, words, sizeof(words))) return 0;
  int found = -1;
  for (int i = 0; i < static_cast<int>(kPlaces); ++i) {
    if (!is_tensor(words[i])) continue;
    if (found >= 0) return 0;
    found = i;
  }
  if (found < 0) return 0;
  if (__atomic_add_fetch(&votes[found], 1, __ATOMIC_RELAXED) >= kVotesNeeded)
    __atomic_store_n(&place, found, __ATOMIC_RELAXED);
  return words[found];
}

std::uintptr_t variable_of(std::uintptr_t node) {
  int decided = __atomic_load_n(&place, __ATOMIC_RELAXED);
  if (decided < 0) return find_variable(node);
  std::uintptr_t variable = 0;
  read_safely(node + kFirstPlace + 8 * static_cast<std::size_t>(decided), &variable, sizeof(variable));
  return is_tensor(variable) ? variable : 0;
}

// AccumulateGrad::apply(gradients), with a hidden result, in the thread that runs the pass: once a parameter.
void enter_gradient(HookedCall& call) {
  if (!is_looking() || __atomic_load_n(&known, __ATOMIC_RELAXED) >= kParameters) return;
  const Layout* known_layout = layout();
  if (!known_layout) return;
  Parameter parameter{variable_of(call.argument(Argument::kThis)), {}};
  if (!parameter.tensor || !read_version(parameter.tensor, known_layout->header, &parameter.version)) return;
  std::uint32_t index = __atomic_fetch_add(&known, 1, __ATOMIC_ACQ_REL);
  if (index < kParameters) parameters[index] = parameter;
}

// Of one that is freed meanwhile the counter is another's.
bool has_changed(const Parameter& before, std::size_t header) {
  constexpr std::uint32_t kMostWrites = 1u << 20;  // between two passes
  Version now{};
  if (!is_tensor(before.tensor) || !read_version(before.tensor, header, &now)) return false;
  return now.counter == before.version.counter && now.count != before.version.count &&
         now.count - before.version.count < kMostWrites;
}

bool have_changed(std::uint32_t count) {
  const Layout* known_layout = layout();
  for (std::uint32_t i = 0; known_layout && i < count && i < kParameters; ++i)
    if (has_changed(parameters[i], known_layout->header)) return true;
  return false;
}

}  // namespace

void note_named_step() { __atomic_store_n(&passes_unnamed, 0u, __ATOMIC_RELAXED); }

void note_pass() {
  if (!is_looking()) __atomic_fetch_add(&passes_unnamed, 1, __ATOMIC_RELAXED);
}

void find_update() {
  std::uint32_t count = __atomic_exchange_n(&known, 0u, __ATOMIC_ACQ_REL);
  if (count && is_looking() && have_changed(count))
    end(begin<Call::parameters_updated>(Weight::kFollows, {}, Stack::kTaken));
}

const Handler handlers::parameter_gradient{enter_gradient, nullptr};

}  // namespace ddpscope::injector::torch
