// How many elements a tensor has, and of which type, read out of c10::TensorImpl.
//
// No accessor of these is exported; where they lie differs between versions. So a place counts only once
// tensors have proved it: at one offset, and at no other that a version is known to have, there are a number
// of dimensions, as many sizes whose product is the number of elements behind them, and a type; and in front
// of it counts of holders as that version has them.
#pragma once
#include <cstdint>

#include "injector/torch/hooked_call.h"

namespace ddpscope::injector::torch {

constexpr std::uint8_t kUnknownType = 0xFF;

struct Elements {
  std::uint64_t count = 0;
  std::uint8_t datatype = kUnknownType;  // ncclDataType_t, else 128 + c10::ScalarType; of the first tensor
  bool read = false;                     // false: not known
};

// Of the tensors in this argument of a call: their sum.
Elements count_elements(const HookedCall& call, Counted counted);

// Whether there is a tensor at this address, in the layout that has proved itself. Any address.
bool is_tensor(std::uintptr_t address);

// The version's layout, once it has proved itself.
struct Layout {
  std::uint8_t sizes;   // offset in TensorImpl: sizes_and_strides_
  std::uint8_t header;  // bytes of a reference-counted object's counts, and what stands before them
};
const Layout* layout();  // nullptr: no tensor spoke for one, or they disagree
int header_bytes();      // its header, which scalars show too; 0: not known

// Gloo counted otherwise: no value is read any more.
void refuse_layout();

}  // namespace ddpscope::injector::torch
