// The addresses of a library's functions, in the order of exported.def. The library's form for CUDA 12 jumps
// to them by this table and not by name: a tracer that wraps the name and reaches the jump would be called
// again. No declaration of these functions is included: a jump knows nothing of their parameters.
#define EXPORTED(function) extern "C" void function();
#include "exported.def"
#undef EXPORTED

extern "C" void (*const STANDIN_TABLE[])();

#define EXPORTED(function) &function,
extern "C" void (*const STANDIN_TABLE[])() = {
#include "exported.def"
};
