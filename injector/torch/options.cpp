// c10d/Types.hpp of PyTorch 1.13 to 2.15: only what is added at the end, and the size of a reference-counted
// object's header, differ.
#include "injector/torch/options.h"

#include "injector/torch/tensors.h"

namespace ddpscope::injector::torch {
namespace {

constexpr int kNowhere = -1;
constexpr std::uint8_t kLatestSizes = 56;  // PyTorch 2.15, whose options all have asyncOp

// Offsets in the options of one kind; those that lie behind a ReduceOp count from its end, and `header` says
// which.
struct Places {
  int root = kNowhere, reduction = kNowhere, asynchronous = kNowhere;
};

Places places_of(Call call, int header) {
  switch (call) {
    case Call::c10d_broadcast:
      return {.root = 0, .asynchronous = 24};
    case Call::c10d_gather:
    case Call::c10d_scatter:
      return {.root = 0, .asynchronous = 16};
    case Call::c10d_reduce:
      return {.root = header + 16, .reduction = header, .asynchronous = header + 40};
    case Call::c10d_allreduce:
    case Call::c10d_reduce_scatter:
      return {.reduction = header, .asynchronous = header + 24};
    case Call::c10d_allgather:
    case Call::c10d_alltoall:
      return {.asynchronous = 8};
    case Call::c10d_barrier:
      return {.asynchronous = 35};
    default:
      return {};
  }
}

// c10d::ReduceOp::RedOpType to ncclRedOp_t, and beyond.
std::uint8_t reduction_of(std::uint8_t operation) {
  constexpr std::uint8_t kReductions[] = {0, 4, 1, 3, 2, 16, 17, 18, kOwnReduction};
  return operation < sizeof(kReductions) ? kReductions[operation] : kUnknownReduction;
}

Mode mode_of(unsigned char flag) {
  return flag > 1 ? Mode::kUnknown : flag ? Mode::kAsynchronous : Mode::kSynchronous;
}

bool reduces(Call call) {
  return call == Call::c10d_allreduce || call == Call::c10d_reduce || call == Call::c10d_reduce_scatter;
}

}  // namespace

Options read_options(const HookedCall& call, std::int32_t size) {
  Options options;
  const Function& function = call.function();
  if (function.options == Argument::kNone) return options;
  const auto* bytes = call.pointer<const unsigned char*>(function.options);
  const Layout* known = layout();
  const int header = header_bytes();
  Places places = places_of(function.call, header);
  bool by_header = reduces(function.call);
  if (by_header && !header) {
    options.reduction = kUnknownReduction;
    options.read = false;
    return options;
  }
  if (places.reduction != kNowhere) options.reduction = reduction_of(bytes[places.reduction]);
  if (places.root != kNowhere) {
    std::int64_t root = *reinterpret_cast<const std::int64_t*>(bytes + places.root);
    bool is_rank = root >= 0 && root < size;
    if (is_rank) options.root = static_cast<std::int32_t>(root);
    options.read = is_rank;
  }
  if (options.reduction == kUnknownReduction) options.read = false;
  if (known && known->sizes == kLatestSizes && places.asynchronous != kNowhere)
    options.mode = mode_of(bytes[places.asynchronous]);
  return options;
}

}  // namespace ddpscope::injector::torch
