// Backward passes, and what DistributedDataParallel does in them.
#include "injector/torch/handlers.h"
#include "injector/torch/profiler_scopes.h"
#include "trace/process_groups.h"

namespace ddpscope::injector::torch {
namespace {

using enum trace::TrainingFlags;

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
  if (find_around(call, handlers::backward)) return;
  auto is_set = [&](unsigned register_number) { return (call.arguments[register_number] & 0xFF) != 0; };
  std::uint8_t flags = 0;
  if (is_set(4)) flags |= kKeepGraph;
  if (is_set(5)) flags |= kCreateGraph;
  if (call.on_stack[0] & 0xFF) flags |= kAccumulate;
  open<Call::autograd_backward>(call, 0, flags);
}

template <Call row>
void enter_reducer(HookedCall& call) {
  open<row>(call, call.argument(Argument::kResult), 0);
}

}  // namespace

const Handler handlers::backward{enter_backward, leave};
const Handler handlers::reducer_forward{enter_reducer<Call::reducer_forward>, leave};
const Handler handlers::reducer_backward{enter_reducer<Call::reducer_backward>, leave};
const Handler handlers::reducer_finish{enter_reducer<Call::reducer_finish>, leave};
const Handler handlers::reducer_rebuild{enter_reducer<Call::reducer_rebuild>, leave};

}  // namespace ddpscope::injector::torch
