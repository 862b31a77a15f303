// Finds CPython's exported functions and checks its layout before trusting it.
#include "injector/python/interpreter.h"

#include <dlfcn.h>

#include <initializer_list>

#include "injector/core/real.h"
#include "injector/core/safe_read.h"
#include "injector/python/range.h"

namespace ddpscope::injector::python {

std::uintptr_t code_start;
std::uintptr_t code_bytes;

namespace {

struct Symbols {
  Address (*this_thread_state)();  // PyGILState_GetThisThreadState: reads a thread-specific value
  Address (*gil_holder)();
  int (*is_finalizing)();
  int (*line_of)(Address code, int offset);
  const unsigned long* version;
  Address code_type;
  Address string_type;
  bool debug_build;  // its objects have further fields in front

  bool complete() const {
    return this_thread_state && gil_holder && is_finalizing && line_of && version && code_type && string_type;
  }
};
Symbols symbols;

template <class T>
void find(T* place, const char* symbol) {
  *place = reinterpret_cast<T>(real_dlsym(RTLD_DEFAULT, symbol));
}

void find_range() {
  dl_find_object object;
  if (_dl_find_object(reinterpret_cast<void*>(symbols.this_thread_state), &object) != 0) return;
  code_start = reinterpret_cast<std::uintptr_t>(object.dlfo_map_start);
  code_bytes = reinterpret_cast<std::uintptr_t>(object.dlfo_map_end) - code_start;
}

bool has_type(Address object, Address type) {
  Address found = 0;
  return read_safely(object + object::kType, &found, sizeof(found)) && found == type;
}

bool read_pointer(Address address, Address* out) { return read_safely(address, out, sizeof(*out)); }

Trust judge(Address state) {
  if (!symbols.complete() || symbols.debug_build || *symbols.version >> 16 != kMinorVersion)
    return Trust::kRefused;
  Address c_frame = 0;
  Address frame = 0;
  Address code = 0;
  if (!read_pointer(state + thread_state::kCFrame, &c_frame) ||
      !read_pointer(c_frame + c_frame::kCurrentFrame, &frame))
    return Trust::kRefused;
  if (!frame) return Trust::kUndecided;
  if (!read_pointer(frame + frame::kCode, &code) || !has_type(code, symbols.code_type))
    return Trust::kRefused;
  for (std::size_t offset : {code::kFileName, code::kQualifiedName}) {
    Address text = 0;
    if (!read_pointer(code + offset, &text) || !has_type(text, symbols.string_type)) return Trust::kRefused;
  }
  return Trust::kGiven;
}

}  // namespace

bool is_present;

void find_interpreter() {
  find(&symbols.this_thread_state, "PyGILState_GetThisThreadState");
  is_present = symbols.this_thread_state != nullptr;
  if (!is_present) return;
  find_range();
  find(&symbols.gil_holder, "_PyThreadState_UncheckedGet");
  find(&symbols.is_finalizing, "_Py_IsFinalizing");
  find(&symbols.line_of, "PyCode_Addr2Line");
  find(&symbols.version, "Py_Version");
  find(&symbols.code_type, "PyCode_Type");
  find(&symbols.string_type, "PyUnicode_Type");
  symbols.debug_build = real_dlsym(RTLD_DEFAULT, "_Py_RefTotal") != nullptr;
}

Address this_thread_state() {
  if (!symbols.this_thread_state || (symbols.is_finalizing && symbols.is_finalizing())) return 0;
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

Address holder_of_gil() { return symbols.gil_holder(); }

bool is_code(Address object) { return has_type(object, symbols.code_type); }

int line_of(Address code, Address instruction) {
  return symbols.line_of(code, static_cast<int>(instruction - (code + code::kInstructions)));
}

}  // namespace ddpscope::injector::python
