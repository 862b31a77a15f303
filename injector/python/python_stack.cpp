// Walks the frames of this thread: nobody else changes them while it is in native code, and they keep their
// code and its names alive. A stack that was seen before costs the walk and one look-up.
#include "injector/python/python_stack.h"

#include <string.h>

#include "injector/core/process.h"
#include "injector/core/safe_read.h"
#include "injector/python/interpreter.h"
#include "injector/python/python_text.h"
#include "trace/write/raw_syscall.h"
#include "trace/write/text_file.h"

namespace ddpscope::injector {
namespace {

using namespace python;

constexpr int kMaxFrames = 64;
constexpr std::size_t kMaxText = 1024;

struct Place {
  Address code;
  Address instruction;
};

// Where a thread stands that may be running.
struct Standing {
  Address frame = 0;
  Address instruction = 0;
  bool operator==(const Standing&) const = default;
};

Standing standing_of(Address state) {
  Standing standing;
  Address c_frame = 0;
  bool read =
      read_safely(state + thread_state::kCFrame, &c_frame, sizeof(c_frame)) &&
      read_safely(c_frame + c_frame::kCurrentFrame, &standing.frame, sizeof(standing.frame)) &&
      read_safely(standing.frame + frame::kInstruction, &standing.instruction, sizeof(standing.instruction));
  return read ? standing : Standing{};
}

// The state of the main thread in /proc/PID/task/PID/stat: the letter behind the name's bracket.
bool main_thread_sleeps() {
  char text[512];
  std::size_t bytes = trace::read_text("/proc/self/stat", text, sizeof(text));
  const auto* after_name = static_cast<const char*>(memrchr(text, ')', bytes));
  return after_name && after_name[1] == ' ' && after_name[2] == 'S';
}

bool is_main_thread(trace::FileWriter& file) {
  std::int32_t& tid = this_thread.tid;
  if (!tid) tid = static_cast<std::int32_t>(trace::raw_syscall(SYS_gettid));
  return tid == file.header().pid;
}

struct Walk {
  Place places[kMaxFrames];
  int count = 0;
  std::uint64_t hash = 0x9E3779B97F4A7C15u;

  // Line and name tell new code from old code whose memory it got.
  void add(Address code, Address instruction) {
    places[count++] = {code, instruction};
    std::uint64_t word = instruction ^ at<Address>(code, code::kQualifiedName) << 16 ^
                         static_cast<std::uint64_t>(at<std::uint32_t>(code, code::kFirstLine)) << 40;
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
};

void walk_own_frames(Address frame, Walk* walk) {
  for (; frame && walk->count < kMaxFrames; frame = at<Address>(frame, frame::kPrevious))
    walk->add(at<Address>(frame, frame::kCode), at<Address>(frame, frame::kInstruction));
}

// Another thread's frames, which it may change at any time: each is copied and checked before it is believed.
void walk_other_frames(Address frame, Walk* walk) {
  unsigned char copy[frame::kBytes];
  while (frame && walk->count < kMaxFrames && read_safely(frame, copy, sizeof(copy))) {
    auto here = reinterpret_cast<Address>(copy);
    auto code = at<Address>(here, frame::kCode);
    if (!is_code(code)) return;
    walk->add(code, at<Address>(here, frame::kInstruction));
    frame = at<Address>(here, frame::kPrevious);
  }
}

std::uint32_t intern_text(trace::FileWriter& file, Address text) {
  char utf8[kMaxText];
  return this_thread.writer.intern(file, utf8, copy_text(text, utf8, sizeof(utf8)));
}

std::uint32_t intern_places(trace::FileWriter& file, const Walk& walk) {
  trace::StackFrame frames[kMaxFrames];
  for (int i = 0; i < walk.count; ++i) {
    const Place& place = walk.places[i];
    int line = line_of(place.code, place.instruction);
    frames[i] = {trace::FrameKind::kPython, intern_text(file, at<Address>(place.code, code::kFileName)),
                 intern_text(file, at<Address>(place.code, code::kQualifiedName)),
                 static_cast<std::uint32_t>(line > 0 ? line : 0), 0};
  }
  return this_thread.writer.intern_stack(file, frames, static_cast<std::size_t>(walk.count));
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
  if (!state || holder_of_gil() == state) return 0;
  Standing before = standing_of(state);
  ThreadState& thread = this_thread;
  if (!before.frame) return 0;
  if (before == Standing{thread.awaited_frame, thread.awaited_instruction}) return thread.awaited_stack;
  if (!main_thread_sleeps()) return 0;
  Walk walk;
  walk_other_frames(before.frame, &walk);
  if (holder_of_gil() == state || standing_of(state) != before) return 0;
  thread.awaited_frame = before.frame;
  thread.awaited_instruction = before.instruction;
  return thread.awaited_stack = id_of(file, walk);
}

}  // namespace

std::uint32_t python_stack(trace::FileWriter& file) {
  Address state = this_thread_state();
  if (!state) return 0;
  Trust given = trust(state);
  if (given == Trust::kRefused) file.count(trace::Health::python_stack_off);
  if (given != Trust::kGiven) return 0;
  Address frame = at<Address>(at<Address>(state, thread_state::kCFrame), c_frame::kCurrentFrame);
  if (is_main_thread(file)) __atomic_store_n(&main_state, state, __ATOMIC_RELAXED);
  if (!frame) return stack_of_waiting_main(file);
  Walk walk;
  walk_own_frames(frame, &walk);
  return id_of(file, walk);
}

}  // namespace ddpscope::injector
