// The table of PyTorch's functions that are hooked, made from functions.def.
#pragma once
#include <cstdint>

#include "trace/calls.h"

namespace ddpscope::injector::torch {

struct HookedCall;
using trace::Call;

// Where a C++ function's arguments lie: the result's hidden address and `this` come first, the sixth is the
// last in a register (System V AMD64 ABI, 3.2.3).
enum class Argument : std::uint8_t {
  kNone = 0xFF,
  kResult = 0,
  kThis,
  kFirst,
  kSecond,
  kThird,
  kFourth,
  kFifth,  // on the stack
};

// What says how many elements an operation has, and of which type.
enum class Counted : std::uint8_t { kNothing, kFirstVector, kSecondVector, kFirstTensor, kSecondTensor };

struct Handler {
  void (*enter)(HookedCall&);              // before the real function; null: nothing to do
  void (*leave)(HookedCall&, bool threw);  // after it; null: nothing to do
};

struct Function {
  const char* symbol;
  const char* kind;  // equal for all names that a function had, and for all that are recorded alike
  const Handler* handler;
  Call call;  // of a collective; else kNone
  Counted counted;
  Argument options;
};

enum FunctionNumber : std::uint32_t {
#define DDPSCOPE_TORCH(symbol, handler) k##symbol,
#define DDPSCOPE_TORCH_COLLECTIVE(symbol, call, counted, options) k##symbol,
#include "injector/torch/functions.def"
#undef DDPSCOPE_TORCH
#undef DDPSCOPE_TORCH_COLLECTIVE
  kFunctions
};

extern const Function functions[kFunctions];

}  // namespace ddpscope::injector::torch
