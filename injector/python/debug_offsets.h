// What CPython says of its own layout, from 3.13 on.
#pragma once
#include "injector/python/layout.h"

namespace ddpscope::injector::python {

// Whether the process's _PyRuntime begins with the offsets of Python 3.`minor`, they are those of `layout`,
// and the interpreter has a GIL. Reads no memory that is not there.
bool runtime_agrees(Address runtime, int minor, const Layout& layout);

}  // namespace ddpscope::injector::python
