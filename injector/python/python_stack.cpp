// A stack that was seen before costs the walk and one look-up.
#include "injector/python/python_stack.h"

#include <string.h>

#include "injector/core/process.h"
#include "injector/python/frames.h"
#include "injector/python/interpreter.h"
#include "injector/python/python_text.h"
#include "trace/write/raw_syscall.h"
#include "trace/write/text_file.h"

namespace ddpscope::injector {
namespace {

using namespace python;

constexpr std::size_t kMaxText = 1024;

// Python code that takes the place of PyTorch's operators in a dry run: the call is made by who called it.
constexpr char kOperatorFolder[] = "/standin_torch/";

// The state of the main thread in /proc/PID/task/PID/stat: the letter behind the name's bracket.
bool main_thread_sleeps() {
  char text[512];
  std::size_t bytes = trace::read_text("/proc/self/stat", text, sizeof(text));
  const auto* after_name = static_cast<const char*>(memrchr(text, ')', bytes));
  return after_name && after_name[1] == ' ' && after_name[2] == 'S';
}

std::uint32_t intern_text(trace::FileWriter& file, Address text) {
  char utf8[kMaxText];
  return this_thread.writer.intern(file, utf8, copy_text(text, utf8, sizeof(utf8)));
}

bool is_operator(const Place& place) {
  char utf8[kMaxText];
  std::size_t bytes = copy_text(at<Address>(place.code, layout->code_file_name), utf8, sizeof(utf8));
  return memmem(utf8, bytes, kOperatorFolder, sizeof(kOperatorFolder) - 1) != nullptr;
}

// From CPython 3.12 on a frame stands between a class that is called and its __init__, to drop what that
// returns: it is no code of anybody's, and its file and its name are one string.
bool is_cleanup(const Place& place) {
  return at<Address>(place.code, layout->code_file_name) == at<Address>(place.code, layout->code_name);
}

std::uint32_t intern_places(trace::FileWriter& file, const Walk& walk) {
  trace::StackFrame frames[Walk::kMaxFrames];
  std::size_t count = 0;
  for (int i = 0; i < walk.count; ++i) {
    const Place& place = walk.places[i];
    if (is_operator(place) || is_cleanup(place)) continue;
    int line = line_of(place.code, offset_of(place));
    frames[count++] = {trace::FrameKind::kPython,
                       intern_text(file, at<Address>(place.code, layout->code_file_name)),
                       intern_text(file, at<Address>(place.code, layout->code_name)),
                       static_cast<std::uint32_t>(line > 0 ? line : 0), 0};
  }
  return count ? this_thread.writer.intern_stack(file, frames, count) : 0;
}

std::uint32_t id_of(trace::FileWriter& file, const Walk& walk) {
  trace::FileWriter::Known* place = walk.count ? file.find_known(walk.hash) : nullptr;
  if (!place) return 0;
  std::uint32_t id = place->id.load(std::memory_order_acquire);
  if (id) return id;
  id = intern_places(file, walk);
  place->id.store(id, std::memory_order_release);
  return id;
}

// The thread that runs the program, as it last called us.
Address main_state;

// PyTorch's autograd threads have a thread state and no frames: what they do was asked for by the main
// thread, which waits for them. Its stack is theirs if it stands still: it sleeps, does not hold the GIL, and
// its innermost frame is the same before and after it was read. 0 otherwise.
std::uint32_t stack_of_waiting_main(trace::FileWriter& file) {
  Address state = __atomic_load_n(&main_state, __ATOMIC_RELAXED);
  if (!state || holds_gil(state)) return 0;
  Standing before = standing_of(state);
  ThreadState& thread = this_thread;
  if (!before.frame) return 0;
  if (before == Standing{thread.awaited_frame, thread.awaited_instruction}) return thread.awaited_stack;
  if (!main_thread_sleeps()) return 0;
  Walk walk;
  walk_other_frames(before.frame, &walk);
  if (holds_gil(state) || standing_of(state) != before) return 0;
  thread.awaited_frame = before.frame;
  thread.awaited_instruction = before.instruction;
  return thread.awaited_stack = id_of(file, walk);
}

// The state of this thread, if its frames can be read; 0 otherwise.
Address trusted_state(trace::FileWriter& file) {
  if (is_present && !layout) file.count(trace::Health::python_stack_off);
  Address state = this_thread_state();
  if (!state) return 0;
  Trust given = trust(state);
  if (given == Trust::kRefused) file.count(trace::Health::python_stack_off);
  return given == Trust::kGiven ? state : 0;
}

// From 3.15 on a thread that runs no Python has a frame all the same, of the interpreter's own.
Walk own_frames(Address state) {
  Walk walk;
  if (Address frame = own_innermost(state)) walk_own_frames(frame, &walk);
  return walk;
}

}  // namespace

bool is_main_thread(trace::FileWriter& file) {
  std::int32_t& tid = this_thread.tid;
  if (!tid) tid = static_cast<std::int32_t>(trace::raw_syscall(SYS_gettid));
  return tid == file.header().pid;
}

std::uint32_t python_stack(trace::FileWriter& file) {
  Address state = trusted_state(file);
  if (!state) return 0;
  if (is_main_thread(file)) __atomic_store_n(&main_state, state, __ATOMIC_RELAXED);
  Walk walk = own_frames(state);
  return walk.count ? id_of(file, walk) : stack_of_waiting_main(file);
}

std::uint32_t own_python_stack(trace::FileWriter& file) {
  Address state = trusted_state(file);
  return state ? id_of(file, own_frames(state)) : 0;
}

}  // namespace ddpscope::injector
