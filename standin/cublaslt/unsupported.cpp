// Every name that the real library exports and no other file defines: exported.def is its symbol table. No
// declaration of these functions is included, so that none contradicts the stubs.
#include "standin/library/refusal.h"

#define EXPORTED(function) STANDIN_REFUSED("libcublasLt", int, CUBLAS_STATUS_NOT_SUPPORTED, function)
enum { CUBLAS_STATUS_NOT_SUPPORTED = 15 };
#include "exported.def"
