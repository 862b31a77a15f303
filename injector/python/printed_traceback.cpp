// Lines are put together from whatever pieces they are written in.
#include "injector/python/printed_traceback.h"

#include <errno.h>
#include <string.h>

#include "injector/core/hook.h"
#include "injector/core/rank.h"
#include "injector/processes/generation.h"
#include "injector/python/python_stack.h"

namespace ddpscope::injector {
namespace {

constexpr int kMostFrames = 24;
constexpr std::size_t kLongestLine = 1024;
constexpr std::size_t kLongestPrefix = 64;
constexpr std::uint32_t kMostTracebacks = 256;  // a job may log one in every step

constexpr char kHeading[] = "Traceback (most recent call last):";
// Stands before the traceback of an exception that nobody can catch, as a destructor's: the program goes on.
constexpr char kIgnored[] = "Exception ignored ";

// Written by the main thread alone.
struct Printed {
  char line[kLongestLine];
  std::size_t length;           // beyond kLongestLine: of a line that is too long to be read
  bool escape;                  // inside a sequence that sets a terminal's colour
  bool inside;                  // of a traceback
  bool ignored;                 // by Python: what the line before says of the traceback that follows
  char prefix[kLongestPrefix];  // of each of its lines: "[rank3]: " with PyTorch 2
  std::size_t prefix_length;
  trace::StackFrame frames[kMostFrames];  // the last ones, outermost first
  int count;
  std::uint32_t epoch;  // of the file that their strings are in
  std::uint32_t tracebacks;
};
Printed printed;

struct Text {
  const char* begin;
  const char* end;

  std::size_t size() const { return static_cast<std::size_t>(end - begin); }
  bool skip(const char* prefix, std::size_t bytes) {
    if (size() < bytes || memcmp(begin, prefix, bytes) != 0) return false;
    begin += bytes;
    return true;
  }
  bool skip(const char* prefix) { return skip(prefix, strlen(prefix)); }
};

std::uint32_t intern_text(trace::FileWriter& file, Text text) {
  return this_thread.writer.intern(file, text.begin, text.size());
}

// `File "/home/me/train.py", line 88, in main`, without its indentation.
bool read_frame(trace::FileWriter& file, Text line, trace::StackFrame* frame) {
  constexpr char kLine[] = "\", line ";
  if (!line.skip("File \"")) return false;
  const void* found = memmem(line.begin, line.size(), kLine, sizeof(kLine) - 1);
  if (!found) return false;
  Text path{line.begin, static_cast<const char*>(found)};
  line.begin = path.end + sizeof(kLine) - 1;
  std::uint32_t number = 0;
  for (; line.size() && *line.begin >= '0' && *line.begin <= '9'; ++line.begin)
    number = number * 10 + static_cast<std::uint32_t>(*line.begin - '0');
  if (!line.skip(", in ")) return false;
  *frame = {trace::FrameKind::kPython, intern_text(file, path), intern_text(file, line), number, 0};
  return true;
}

void add_frame(const trace::StackFrame& frame) {
  if (printed.count == kMostFrames) {
    memmove(printed.frames, printed.frames + 1, sizeof(printed.frames) - sizeof(printed.frames[0]));
    --printed.count;
  }
  printed.frames[printed.count++] = frame;
}

// Its type ends at the colon before the message, which is nobody's business.
void record_traceback(trace::FileWriter& file, Text line) {
  printed.inside = false;
  if (printed.count == 0 || printed.tracebacks == kMostTracebacks) return;
  ++printed.tracebacks;
  if (const void* colon = memchr(line.begin, ':', line.size())) line.end = static_cast<const char*>(colon);
  trace::StackFrame innermost_first[kMostFrames];
  for (int i = 0; i < printed.count; ++i) innermost_first[i] = printed.frames[printed.count - 1 - i];
  std::uint32_t stack =
      this_thread.writer.intern_stack(file, innermost_first, static_cast<std::size_t>(printed.count));
  record_moment<Call::python_traceback>(file, {intern_text(file, line)}, stack);
}

// Ends with the heading: what stands before it stands before each line of the traceback.
bool begins_traceback(Text line) {
  constexpr std::size_t kBytes = sizeof(kHeading) - 1;
  if (line.size() < kBytes || line.size() > kBytes + kLongestPrefix ||
      memcmp(line.end - kBytes, kHeading, kBytes) != 0)
    return false;
  printed.prefix_length = line.size() - kBytes;
  memcpy(printed.prefix, line.begin, printed.prefix_length);
  return true;
}

void read_line(trace::FileWriter& file, Text line) {
  const bool ignored = printed.ignored;
  printed.ignored = Text(line).skip(kIgnored);
  if (begins_traceback(line)) {
    printed.inside = !ignored;
    printed.count = 0;
    printed.epoch = file.epoch();
    return;
  }
  if (!printed.inside || !line.skip(printed.prefix, printed.prefix_length) || !line.size()) return;
  if (printed.epoch != file.epoch()) {  // begun by the parent, before the fork
    printed.inside = false;
    return;
  }
  if (*line.begin != ' ') return record_traceback(file, line);
  while (line.skip(" ")) continue;
  trace::StackFrame frame;
  if (read_frame(file, line, &frame)) add_frame(frame);
}

void add_character(trace::FileWriter& file, char character) {
  constexpr char kEscape = '\033';
  if (printed.escape) {
    printed.escape = character != 'm' && character != '\n';  // a colour's sequence ends with an m
  } else if (character == kEscape) {
    printed.escape = true;
  } else if (character != '\n') {
    if (printed.length < kLongestLine) printed.line[printed.length] = character;
    ++printed.length;
  }
  if (character != '\n') return;
  if (printed.length <= kLongestLine) read_line(file, {printed.line, printed.line + printed.length});
  printed.length = 0;
}

// A rank that fails before anything else of weight, as one that cannot import a package, is recorded for it.
trace::FileWriter* recorder_for(const char* text, std::size_t bytes) {
  if (!awaits_weight()) return open_recorder();
  bool begins = memmem(text, bytes, kHeading, sizeof(kHeading) - 1);
  return begins && is_one_of_several() && !in_vfork_child() ? recorder(Weight::kOpens) : nullptr;
}

}  // namespace

void read_printed(const char* text, std::size_t bytes) {
  int saved = errno;
  trace::FileWriter* file = recorder_for(text, bytes);
  if (file && is_main_thread(*file)) {
    if (OwnWork work(file); work)
      for (const char* end = text + bytes; text < end; ++text) add_character(*file, *text);
  }
  errno = saved;
}

}  // namespace ddpscope::injector
