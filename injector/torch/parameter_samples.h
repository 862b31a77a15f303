// Whether the ranks' copies of a model stay alike: a sum over a few elements of its parameters, which all
// ranks take from the same ones.
#pragma once
#include <cstdint>

#include "injector/core/hook.h"

namespace ddpscope::injector::torch {

// Of a c10d::Reducer whose parameters lie on the host. Must be called inside OwnWork.
void record_parameter_sample(trace::FileWriter& file, std::uint64_t reducer, std::uint32_t stack);

// An optimizer's step begins: of all whose parameters were given gradients since the last one (training.cpp).
// Whatever a program does to its parameters for a pass (a shard that is updated here and broadcast, a step up
// that is taken back), here all ranks have what all should have. Must be called inside OwnWork.
void record_parameter_samples(trace::FileWriter& file, std::uint32_t stack);

}  // namespace ddpscope::injector::torch
