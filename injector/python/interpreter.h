// The CPython interpreter in this process, if there is one whose layout is known.
#pragma once
#include "injector/python/layout.h"

namespace ddpscope::injector::python {

extern bool is_present;  // as far as find_interpreter() knows

// Looks for its symbols, once, when this library is loaded: an executable that has Python in it or is linked
// with libpython.
void find_interpreter();

// This thread's PyThreadState; 0 if it has none, Python is absent, not initialised or going down. No GIL.
Address this_thread_state();

enum class Trust { kUndecided, kRefused, kGiven };

// Whether the layout is the one known here. Decided once, by the version and by the types of what lies where
// the code and the strings of the first frame that is met should.
Trust trust(Address state);

// The PyThreadState that holds the GIL, 0 for none.
Address holder_of_gil();

// Whether a code object lies there; false also if nothing does.
bool is_code(Address object);

// 1-based; 0 if unknown. No GIL, no reference counts.
int line_of(Address code, Address instruction);

}  // namespace ddpscope::injector::python
