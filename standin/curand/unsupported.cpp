// Every name that the real library exports and no other file defines: exported.def is its symbol table.
// cuRAND has no status for what is not supported; the one for a feature that the GPU lacks comes nearest.
#include "standin/library/refusal.h"

#define EXPORTED(function) STANDIN_REFUSED("libcurand", int, CURAND_STATUS_ARCH_MISMATCH, function)
enum { CURAND_STATUS_ARCH_MISMATCH = 204 };
#include "exported.def"
