// Compiles if injector/python/layouts.def says what the headers of this Python say; made for each
// version whose headers are found.
#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#include <stddef.h>
#if PY_VERSION_HEX >= 0x030B0000
#include <internal/pycore_frame.h>
#endif
#if PY_VERSION_HEX >= 0x030E0000
#include <internal/pycore_debug_offsets.h>
#include <internal/pycore_interpframe.h>
#include <internal/pycore_stackref.h>
#elif PY_VERSION_HEX >= 0x030D0000
#include <internal/pycore_runtime.h>
#endif

#if PY_MINOR_VERSION == 8
#define COLUMN(v3_8, v3_9, v3_10, v3_11, v3_12, v3_13, v3_14, v3_15) v3_8
#elif PY_MINOR_VERSION == 9
#define COLUMN(v3_8, v3_9, v3_10, v3_11, v3_12, v3_13, v3_14, v3_15) v3_9
#elif PY_MINOR_VERSION == 10
#define COLUMN(v3_8, v3_9, v3_10, v3_11, v3_12, v3_13, v3_14, v3_15) v3_10
#elif PY_MINOR_VERSION == 11
#define COLUMN(v3_8, v3_9, v3_10, v3_11, v3_12, v3_13, v3_14, v3_15) v3_11
#elif PY_MINOR_VERSION == 12
#define COLUMN(v3_8, v3_9, v3_10, v3_11, v3_12, v3_13, v3_14, v3_15) v3_12
#elif PY_MINOR_VERSION == 13
#define COLUMN(v3_8, v3_9, v3_10, v3_11, v3_12, v3_13, v3_14, v3_15) v3_13
#elif PY_MINOR_VERSION == 14
#define COLUMN(v3_8, v3_9, v3_10, v3_11, v3_12, v3_13, v3_14, v3_15) v3_14
#elif PY_MINOR_VERSION == 15
#define COLUMN(v3_8, v3_9, v3_10, v3_11, v3_12, v3_13, v3_14, v3_15) v3_15
#endif

#define ABSENT (-1)

#if PY_MINOR_VERSION <= 10
#define thread_frame_FACT offsetof(PyThreadState, frame)
#define frame_previous_FACT offsetof(PyFrameObject, f_back)
#define frame_code_FACT offsetof(PyFrameObject, f_code)
#define frame_instruction_FACT offsetof(PyFrameObject, f_lasti)
#define code_instructions_FACT 0
#define code_name_FACT offsetof(PyCodeObject, co_name)
#else
#define frame_previous_FACT offsetof(_PyInterpreterFrame, previous)
#define code_instructions_FACT offsetof(PyCodeObject, co_code_adaptive)
#define code_name_FACT offsetof(PyCodeObject, co_qualname)
#endif

// Up to 3.9 in bytes, in 3.10 in instructions (Objects/codeobject.c, Python/ceval.c: no header says it).
#if PY_MINOR_VERSION <= 9
#define instruction_unit_FACT 1
#elif PY_MINOR_VERSION == 10
#define instruction_unit_FACT sizeof(short)
#else
#define instruction_unit_FACT ABSENT
#endif

#if PY_MINOR_VERSION == 11 || PY_MINOR_VERSION == 12
#define thread_frame_FACT offsetof(PyThreadState, cframe)
#define c_frame_frame_FACT offsetof(_PyCFrame, current_frame)
#define frame_code_FACT offsetof(_PyInterpreterFrame, f_code)
#define frame_instruction_FACT offsetof(_PyInterpreterFrame, prev_instr)
#else
#define c_frame_frame_FACT ABSENT
#endif

#if PY_MINOR_VERSION >= 13
#define thread_frame_FACT offsetof(PyThreadState, current_frame)
#define frame_code_FACT offsetof(_PyInterpreterFrame, f_executable)
#define frame_instruction_FACT offsetof(_PyInterpreterFrame, instr_ptr)
#endif

#if PY_MINOR_VERSION >= 12
#define thread_status_FACT offsetof(PyThreadState, _status)
#define frame_owner_FACT offsetof(_PyInterpreterFrame, owner)
#if PY_MINOR_VERSION >= 14
_Static_assert(FRAME_OWNED_BY_INTERPRETER == 3, "frame::kOwnedByInterpreter");
#else
_Static_assert(FRAME_OWNED_BY_CSTACK == 3, "frame::kOwnedByInterpreter");
#endif
#else
#define thread_status_FACT ABSENT
#define frame_owner_FACT ABSENT
#endif

#if PY_MINOR_VERSION >= 14
#define code_marks_FACT Py_TAG_BITS
#else
#define code_marks_FACT 0
#endif

#define code_first_line_FACT offsetof(PyCodeObject, co_firstlineno)
#define code_file_name_FACT offsetof(PyCodeObject, co_filename)
#define string_ascii_data_FACT sizeof(PyASCIIObject)
#define string_data_FACT sizeof(PyCompactUnicodeObject)

#define DDPSCOPE_PYTHON(what, ...) _Static_assert((long)(what##_FACT) == (COLUMN(__VA_ARGS__)), #what);
#include "injector/python/layouts.def"

#if PY_MINOR_VERSION >= 13
#define DEBUG_COLUMN(v3_13, v3_14, v3_15) (PY_MINOR_VERSION == 13 ? v3_13 : PY_MINOR_VERSION == 14 ? v3_14 : v3_15)
#define DDPSCOPE_DEBUG_OFFSET(name, what, ...) _Static_assert(offsetof(_Py_DebugOffsets, name) == DEBUG_COLUMN(__VA_ARGS__), #name);
#include "injector/python/debug_offsets.def"
_Static_assert(offsetof(_Py_DebugOffsets, version) == 8 && offsetof(_Py_DebugOffsets, free_threaded) == 16, "Begin");
#endif

// What layout.h holds for all versions.
_Static_assert(offsetof(PyObject, ob_type) == 8, "object::kType");
_Static_assert(offsetof(PyTypeObject, tp_flags) == 168, "type::kFlags");
_Static_assert(Py_TPFLAGS_UNICODE_SUBCLASS == 1ul << 28, "type::kIsString");
_Static_assert(offsetof(PyASCIIObject, length) == 16, "string::kLength");
_Static_assert(offsetof(PyASCIIObject, state) == 32, "string::kState");
_Static_assert(offsetof(PyUnicodeObject, data) == sizeof(PyCompactUnicodeObject), "string_data");

// Where bit fields lie only a running program can tell.
int main(void) {
  union {
    PyASCIIObject object;
    unsigned words[sizeof(PyASCIIObject) / sizeof(unsigned)];
  } text = {0};
  text.object.state.kind = 7;
  text.object.state.compact = 1;
  text.object.state.ascii = 1;
  int wrong = text.words[32 / sizeof(unsigned)] != (7u << 2 | 1u << 5 | 1u << 6);
#if PY_MINOR_VERSION >= 12
  static union {
    PyThreadState state;
    unsigned words[sizeof(PyThreadState) / sizeof(unsigned)];
  } thread;
  thread.state._status.active = 1;
  wrong |= thread.words[offsetof(PyThreadState, _status) / sizeof(unsigned)] != 1u << 4;
#endif
  return wrong;
}
