// What the real library exports and no other file defines: says so once, and returns
// CUPTI_ERROR_NOT_SUPPORTED. The stubs are weak, so a definition elsewhere takes their place; exported.def is
// the real library's symbol table. No header of NVIDIA's is included: the calling convention lets a function
// ignore the arguments it is given.

namespace ddpscope::standin::cupti {
int refuse_function(const char* name);
}

#define EXPORTED(function) \
  extern "C" [[gnu::weak]] int function() { return ddpscope::standin::cupti::refuse_function(#function); }
#include "exported.def"
