// The CPython interpreter in this process, if there is one whose layout is known.
#pragma once
#include "injector/python/layout.h"

namespace ddpscope::injector::python {

extern bool is_present;       // as far as find_interpreter() knows
extern const Layout* layout;  // one of kLayouts; nullptr: none that is known

// Looks for its symbols and its version, once, when this library is loaded: an executable that has Python in
// it or is linked with libpython.
void find_interpreter();

// This thread's PyThreadState; 0 if it has none, Python is absent, not initialised or going down. No GIL.
// An interpreter without a known layout is not asked: Python 2.7 takes a lock to answer, which the caller of
// a hook may hold.
Address this_thread_state();

enum class Trust { kUndecided, kRefused, kGiven };

// Whether `layout` is this interpreter's. Decided once, by the version, by what the interpreter says itself
// (3.13), and by the types of what lies where the code and the strings of each frame of the first stack
// should.
Trust trust(Address state);

// Below `layout` is trusted.

// Whether the thread of that state, which may be another one, holds the GIL.
bool holds_gil(Address state);

// The state's innermost frame, 0 for none, of a thread that may be another one. False: no memory there.
bool read_innermost(Address state, Address* frame);

// The type of a code object.
Address code_type();

// `offset` is an instruction's, in bytes from the first. 1-based; 0 or less if unknown. No GIL, no reference
// counts.
int line_of(Address code, int offset);

}  // namespace ddpscope::injector::python
