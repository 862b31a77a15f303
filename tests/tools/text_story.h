// What a text trace says, before it is written: hosts, processes and what they do.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tools/trace_scribe.h"
#include "trace/calls.h"

namespace ddpscope::tests {

struct Text {
  std::uint8_t offset;  // of the field in the payload that gets its id
  std::string text;
};

enum class Statement : std::uint8_t {
  kCall,
  kItem,    // its ItemRead is the payload
  kDevice,  // its DeviceStatement
};

// Device work as a text tells it.
struct DeviceStatement {
  trace::DeviceWork work;
  std::uint64_t called;  // ns of true time, 0: not known
};
static_assert(sizeof(DeviceStatement) <= trace::kPayloadBytes);

struct Event {
  int line;
  std::uint16_t thread;
  std::int64_t begin_ns;
  std::int64_t end_ns;          // TraceScribe::kInside: never
  const trace::CallInfo* call;  // nullptr: another statement
  std::array<unsigned char, trace::kPayloadBytes> payload;
  std::uint64_t given;  // bit n: field n was written in the text
  std::vector<Text> texts;
  std::vector<PythonFrame> stack;
  std::string label;
  Statement statement = Statement::kCall;
};

struct Process {
  std::string name;
  ScribeIdentity identity;
  std::optional<std::int64_t> until_ns;  // its last sign of life, if later than its last event
  std::map<std::uint8_t, std::uint64_t> health;
  std::vector<Event> events;
};

struct Story {
  std::vector<Process> processes;
};

// Throws Mistake.
Story read_story(std::string_view text);

// What a text leaves out because it follows from the rest, in the order of time: sequence numbers of
// collectives, device and inode of paths. Sorts the events of each process.
void complete_story(Story& story);

}  // namespace ddpscope::tests
