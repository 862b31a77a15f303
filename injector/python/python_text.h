// Python's strings as UTF-8, read without the GIL.
#pragma once
#include <cstddef>

#include "injector/python/layout.h"

namespace ddpscope::injector::python {

// Writes what fits of the string into `out`; bytes written.
std::size_t copy_text(Address string, char* out, std::size_t bytes);

}  // namespace ddpscope::injector::python
