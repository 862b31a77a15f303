// _PyRuntime begins with a table made for debuggers; it says too whether the build is free-threaded.
#include "injector/python/debug_offsets.h"

#include <string.h>

#include "injector/core/safe_read.h"

namespace ddpscope::injector::python {
namespace {

// _Py_DebugOffsets of 3.13, Include/internal/pycore_runtime.h, as far as it is needed.
struct DebugOffsets {
  char cookie[8];
  std::uint64_t version;
  std::uint64_t free_threaded;
  std::uint64_t runtime_state[3];
  std::uint64_t interpreter_state[13];
  struct {
    std::uint64_t size, prev, next, interp, current_frame, thread_id, native_thread_id, datastack_chunk,
        status;
  } thread_state;
  struct {
    std::uint64_t size, previous, executable, instr_ptr, localsplus, owner;
  } interpreter_frame;
  struct {
    std::uint64_t size, filename, name, qualname, linetable, firstlineno, argcount, localsplusnames,
        localspluskinds, co_code_adaptive;
  } code_object;
  struct {
    std::uint64_t size, ob_type;
  } pyobject;
  struct {
    std::uint64_t size, tp_name, tp_repr, tp_flags;
  } type_object;
  std::uint64_t other_objects[3 + 3 + 3 + 2 + 3 + 3];  // tuple, list, dict, float, long, bytes
  struct {
    std::uint64_t size, state, length, asciiobject_size;
  } unicode_object;
};

bool same(std::uint64_t told, std::int64_t known) { return told == static_cast<std::uint64_t>(known); }

bool same_frames(const DebugOffsets& told, const Layout& known) {
  return same(told.thread_state.current_frame, known.thread_frame) &&
         same(told.thread_state.status, known.thread_status) &&
         same(told.interpreter_frame.executable, known.frame_code) &&
         same(told.interpreter_frame.previous, known.frame_previous) &&
         same(told.interpreter_frame.instr_ptr, known.frame_instruction) &&
         same(told.interpreter_frame.owner, known.frame_owner);
}

bool same_objects(const DebugOffsets& told, const Layout& known) {
  return same(told.code_object.firstlineno, known.code_first_line) &&
         same(told.code_object.filename, known.code_file_name) &&
         same(told.code_object.qualname, known.code_name) &&
         same(told.code_object.co_code_adaptive, known.code_instructions) &&
         same(told.pyobject.ob_type, object::kType) && same(told.type_object.tp_flags, type::kFlags) &&
         same(told.unicode_object.state, string::kState) &&
         same(told.unicode_object.length, string::kLength) &&
         same(told.unicode_object.asciiobject_size, known.string_ascii_data);
}

}  // namespace

bool runtime_agrees(Address runtime, int minor, const Layout& layout) {
  DebugOffsets told;
  if (!runtime || !read_safely(runtime, &told, sizeof(told))) return false;
  constexpr char kCookie[] = "xdebugpy";
  return memcmp(told.cookie, kCookie, sizeof(told.cookie)) == 0 &&
         told.version >> 16 == (0x0300u | static_cast<unsigned>(minor)) && told.free_threaded == 0 &&
         same_frames(told, layout) && same_objects(told, layout);
}

}  // namespace ddpscope::injector::python
