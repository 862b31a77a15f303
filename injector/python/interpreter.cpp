// Finds CPython's exported functions and checks its layout before trusting it.
#include "injector/python/interpreter.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <initializer_list>

#include "injector/core/loaded_object.h"
#include "injector/core/real.h"
#include "injector/core/safe_read.h"
#include "injector/python/debug_offsets.h"
#include "injector/python/range.h"

namespace ddpscope::injector::python {

std::uintptr_t code_start;
std::uintptr_t code_bytes;

namespace {

struct Symbols {
  Address (*this_thread_state)();  // PyGILState_GetThisThreadState: reads a thread-specific value
  Address (*gil_holder)();         // up to 3.11: later it is this thread's state, or 0
  int (*is_finalizing)();
  int (*line_of)(Address code, int offset);
  const char* (*version)();
  Address code_type;
  Address runtime;
  bool debug_build;  // asserts that the GIL is held

  bool complete() const { return this_thread_state && is_finalizing && line_of && code_type; }
};
Symbols symbols;

template <class T>
void find(T* place, const char* symbol) {
  *place = reinterpret_cast<T>(real_dlsym(RTLD_DEFAULT, symbol));
}

void find_range() {
  LoadedObject object;
  if (!find_loaded_object(reinterpret_cast<std::uintptr_t>(symbols.this_thread_state), &object)) return;
  code_start = object.start;
  code_bytes = object.end - code_start;
}

// Of "3.12.1 (main, ...": a final release of Python 3. -1 for others, whose layout may be another.
int minor_version(const char* text) {
  if (strncmp(text, "3.", 2) != 0) return -1;
  char* end = nullptr;
  long minor = strtol(text + 2, &end, 10);
  if (*end != '.') return -1;
  strtol(end + 1, &end, 10);
  return *end == ' ' || *end == '+' ? static_cast<int>(minor) : -1;
}

// The version is asked while this library is loaded: CPython writes it into a buffer at every call, and now
// nobody else reads it.
const Layout* find_layout() {
  constexpr int kFirstThatTells = 13;
  if (!symbols.complete() || !symbols.version || symbols.debug_build) return nullptr;
  int minor = minor_version(symbols.version());
  if (minor < kFirstMinor || minor >= kFirstMinor + kLayoutCount) return nullptr;
  const Layout* known = &kLayouts[minor - kFirstMinor];
  if (known->thread_status < 0 && !symbols.gil_holder) return nullptr;
  if (minor >= kFirstThatTells && !runtime_agrees(symbols.runtime, minor, *known)) return nullptr;
  return known;
}

template <class T>
bool read(Address address, std::size_t offset, T* out) {
  return read_safely(address + offset, out, sizeof(*out));
}

bool has_type(Address object, Address type) {
  Address found = 0;
  return read(object, object::kType, &found) && found == type;
}

bool is_string(Address object) {
  Address type = 0;
  unsigned long flags = 0;
  return read(object, object::kType, &type) && read(type, type::kFlags, &flags) && (flags & type::kIsString);
}

bool is_entry(Address frame) {
  char owner = 0;
  return layout->frame_owner >= 0 && read(frame, layout->frame_owner, &owner) &&
         owner >= frame::kOwnedByInterpreter;
}

bool runs_code(Address frame) {
  Address code = 0;
  Address file_name = 0;
  Address name = 0;
  if (!read(frame, layout->frame_code, &code)) return false;
  code &= ~static_cast<Address>(layout->code_marks);
  return has_type(code, symbols.code_type) && read(code, layout->code_file_name, &file_name) &&
         is_string(file_name) && read(code, layout->code_name, &name) && is_string(name);
}

// Every frame of the stack must be one.
Trust judge(Address state) {
  constexpr int kMaxFrames = 64;
  Address frame = 0;
  if (!read_innermost(state, &frame)) return Trust::kRefused;
  Trust answer = Trust::kUndecided;
  for (int i = 0; frame && i < kMaxFrames; ++i) {
    if (!is_entry(frame)) {
      if (!runs_code(frame)) return Trust::kRefused;
      answer = Trust::kGiven;
    }
    if (!read(frame, layout->frame_previous, &frame)) return Trust::kRefused;
  }
  return answer;
}

}  // namespace

bool is_present;
const Layout* layout;

void find_interpreter() {
  find(&symbols.this_thread_state, "PyGILState_GetThisThreadState");
  is_present = symbols.this_thread_state != nullptr;
  if (!is_present) return;
  find_range();
  find(&symbols.gil_holder, "_PyThreadState_UncheckedGet");
  find(&symbols.is_finalizing, "_Py_IsFinalizing");
  if (!symbols.is_finalizing) find(&symbols.is_finalizing, "Py_IsFinalizing");  // its name from 3.13 on
  find(&symbols.line_of, "PyCode_Addr2Line");
  find(&symbols.version, "Py_GetVersion");
  find(&symbols.code_type, "PyCode_Type");
  find(&symbols.runtime, "_PyRuntime");
  symbols.debug_build = real_dlsym(RTLD_DEFAULT, "_Py_RefTotal") != nullptr;
  layout = find_layout();
}

Address this_thread_state() {
  if (!layout || (symbols.is_finalizing && symbols.is_finalizing())) return 0;
  return symbols.this_thread_state();
}

Trust trust(Address state) {
  static Trust decided = Trust::kUndecided;
  Trust answer = __atomic_load_n(&decided, __ATOMIC_RELAXED);
  if (answer == Trust::kUndecided) {
    answer = judge(state);
    __atomic_store_n(&decided, answer, __ATOMIC_RELAXED);
  }
  return answer;
}

bool holds_gil(Address state) {
  if (layout->thread_status < 0) return symbols.gil_holder() == state;
  unsigned status = 0;
  return read(state, layout->thread_status, &status) && (status & thread_status::kActive);
}

bool read_innermost(Address state, Address* frame) {
  if (!read(state, layout->thread_frame, frame)) return false;
  return layout->c_frame_frame < 0 || read(*frame, layout->c_frame_frame, frame);
}

Address code_type() { return symbols.code_type; }

int line_of(Address code, int offset) { return symbols.line_of(code, offset); }

}  // namespace ddpscope::injector::python
