// Backward passes, and what DistributedDataParallel does in them.
#include "injector/torch/handlers.h"
#include "injector/torch/missing_functions.h"
#include "injector/torch/parameter_samples.h"
#include "injector/torch/parameters.h"
#include "injector/torch/profiler_scopes.h"
#include "trace/process_groups.h"

namespace ddpscope::injector::torch {
namespace {

using enum trace::TrainingFlags;

// Backward passes of this process so far, and in which of them each reducer had gradients last.
std::uint32_t passes;  // __atomic
struct Reducer {
  std::uint64_t object;   // __atomic
  std::uint32_t pass;     // __atomic; 0: none
  std::uint32_t sampled;  // __atomic; the pass behind which its parameters were looked at
};
constexpr std::uint32_t kReducers = 64;
Reducer reducers[kReducers];

// If it has none yet, that of the reducer which had no gradients for longest: it may be gone.
Reducer& place_of(std::uint64_t object) {
  Reducer* oldest = reducers;
  for (Reducer& place : reducers) {
    if (__atomic_load_n(&place.object, __ATOMIC_RELAXED) == object) return place;
    if (__atomic_load_n(&place.pass, __ATOMIC_RELAXED) < __atomic_load_n(&oldest->pass, __ATOMIC_RELAXED))
      oldest = &place;
  }
  __atomic_store_n(&oldest->pass, 0u, __ATOMIC_RELAXED);
  __atomic_store_n(&oldest->object, object, __ATOMIC_RELAXED);
  return *oldest;
}

// It is asked for each parameter; once a pass is enough.
bool is_first_of_pass(std::uint64_t object) {
  std::uint32_t pass = __atomic_load_n(&passes, __ATOMIC_RELAXED);
  return __atomic_exchange_n(&place_of(object).pass, pass, __ATOMIC_RELAXED) != pass;
}

template <Call row>
void open(HookedCall& call, std::uint64_t object, std::uint8_t flags) {
  this_thread.made_last = 0;
  call.open = begin<row>(Weight::kFollows, {object, 0, flags, 0}, Stack::kTaken);
}

void leave(HookedCall& call, bool threw) {
  if (auto* fields = results_in<trace::payload::TrainingCall>(call.open)) fields->result = threw;
  end(call.open);
}

// Engine::execute(roots, inputs, keep_graph, create_graph, accumulate_grad, outputs), with a hidden result.
void enter_backward(HookedCall& call) {
  watch_profiler_scopes(call.return_address);
  record_missing_functions(call.return_address);
  if (find_around(call, handlers::backward)) return;
  auto is_set = [&](unsigned register_number) { return (call.arguments[register_number] & 0xFF) != 0; };
  std::uint8_t flags = 0;
  if (is_set(4)) flags |= kKeepGraph;
  if (is_set(5)) flags |= kCreateGraph;
  if (call.on_stack[0] & 0xFF) flags |= kAccumulate;
  if (flags & kAccumulate) {
    find_update();
    note_pass();
  }
  __atomic_fetch_add(&passes, 1, __ATOMIC_RELAXED);
  open<Call::autograd_backward>(call, 0, flags);
}

template <Call row>
void enter_reducer(HookedCall& call) {
  open<row>(call, call.argument(Argument::kResult), 0);
}

// Reducer::autograd_hook(parameter), in the thread that runs the pass: also where nothing will be reduced.
void enter_gradient(HookedCall& call) {
  std::uint64_t object = call.argument(Argument::kResult);
  if (!is_first_of_pass(object)) return;
  trace::FileWriter* file = recorder(Weight::kFollows);
  OwnWork work(file);
  if (work) record_moment<Call::reducer_gradients>(*file, {object, 0, 0, 0});
}

// It may be the only sign that there was one: of a wrapper that is given up at once.
void enter_end(HookedCall& call) {
  std::uint64_t object = call.argument(Argument::kResult);
  for (Reducer& place : reducers)
    if (__atomic_load_n(&place.object, __ATOMIC_RELAXED) == object)
      __atomic_store_n(&place.object, std::uint64_t{0}, __ATOMIC_RELAXED);
  enter_reducer<Call::reducer_end>(call);
}

}  // namespace

void record_parameter_samples(trace::FileWriter& file, std::uint32_t stack) {
  for (Reducer& place : reducers) {
    std::uint64_t object = __atomic_load_n(&place.object, __ATOMIC_RELAXED);
    std::uint32_t pass = __atomic_load_n(&place.pass, __ATOMIC_RELAXED);
    if (object && pass && __atomic_exchange_n(&place.sampled, pass, __ATOMIC_RELAXED) != pass)
      record_parameter_sample(file, object, stack);
  }
}

const Handler handlers::backward{enter_backward, leave};
const Handler handlers::reducer_forward{enter_reducer<Call::reducer_forward>, leave};
const Handler handlers::reducer_backward{enter_reducer<Call::reducer_backward>, leave};
const Handler handlers::reducer_gradient{enter_gradient, nullptr};
const Handler handlers::reducer_finish{enter_reducer<Call::reducer_finish>, leave};
const Handler handlers::reducer_rebuild{enter_reducer<Call::reducer_rebuild>, leave};
const Handler handlers::reducer_end{enter_end, leave};

}  // namespace ddpscope::injector::torch
