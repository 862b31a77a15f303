// One function per kind of statement.
#include "tests/tools/text_story.h"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "tests/tools/mistake.h"
#include "tests/tools/text_fields.h"
#include "tests/tools/text_lines.h"
#include "tests/tools/text_stack.h"
#include "trace/health.h"

namespace ddpscope::tests {
namespace {

constexpr trace::FieldInfo kItemFields[] = {
    {"offset", offsetof(trace::ItemRead, offset), 8, false, trace::FieldFormat::dec},
    {"bytes", offsetof(trace::ItemRead, bytes), 4, false, trace::FieldFormat::dec},
    {"file", offsetof(trace::ItemRead, file), 4, false, trace::FieldFormat::dec},
};
constexpr trace::PayloadInfo kItem{"item", "a further read", sizeof(trace::ItemRead), kItemFields};

constexpr std::uint8_t kSubject = offsetof(trace::DeviceWork, subject);
constexpr trace::FieldInfo kDeviceFields[] = {
    {"kind", offsetof(trace::DeviceWork, kind), 1, false, trace::FieldFormat::devicework},
    {"name", kSubject, 4, false, trace::FieldFormat::text},
    {"bytes", kSubject, 8, false, trace::FieldFormat::dec},
    {"communicator", kSubject, 4, false, trace::FieldFormat::dec},
    {"sequence", kSubject + 4, 4, false, trace::FieldFormat::dec},
    {"stream", offsetof(trace::DeviceWork, stream), 4, false, trace::FieldFormat::dec},
    {"device", offsetof(trace::DeviceWork, device), 1, false, trace::FieldFormat::dec},
    {"thread", offsetof(trace::DeviceWork, thread), 2, false, trace::FieldFormat::dec},
    {"called", offsetof(DeviceStatement, called), 8, false, trace::FieldFormat::ticks},
};
constexpr trace::PayloadInfo kDevice{"gpu", "device work", sizeof(DeviceStatement), kDeviceFields};

const trace::CallInfo& call_named(std::string_view symbol) {
  for (const trace::CallInfo& call : trace::kCalls)
    if (symbol == call.symbol) return call;
  throw Mistake{"no call '" + std::string(symbol) + "'", "calls are listed in trace/calls.def"};
}

class StoryReader {
 public:
  void use(const Line& line) {
    const std::string& first = line.words[0].text;
    if (line.words.size() < 2) throw Mistake{"a line of one word"};
    if (first == "host") {
      host(line);
    } else if (first == "process") {
      process(line);
    } else if (first == "health") {
      health(line);
    } else {
      event(line);
    }
  }

  Story take() { return std::move(story_); }

 private:
  void host(const Line& line) {
    HostClock& clock = hosts_[line.words[1].text];
    for (std::size_t i = 2; i < line.words.size(); ++i) {
      const auto& [key, text] = line.words[i];
      if (key == "monotonic") {
        clock.monotonic_offset_ns = parse_seconds(text);
      } else if (key == "realtime") {
        clock.realtime_offset_ns = parse_seconds(text);
      } else if (key == "drift") {
        clock.drift_ppm = std::strtod(text.c_str(), nullptr);
      } else {
        throw Mistake{"a host has no '" + key + "'", "monotonic=SECONDS realtime=SECONDS drift=PPM"};
      }
    }
  }

  void process(const Line& line) {
    Process process;
    process.name = line.words[1].text;
    process.identity.host = "a";
    process.identity.pid = 1000 + static_cast<std::int32_t>(story_.processes.size());
    std::vector<Word> environment;
    for (std::size_t i = 2; i < line.words.size(); ++i) {
      const Word& word = line.words[i];
      if (!word.has_key()) throw Mistake{"'" + word.text + "' is not KEY=VALUE"};
      if (!set_process(process, word, environment))
        throw Mistake{"a process has no '" + word.key + "'",
                      "rank world host pid parent parent_pid start opened until ring fold, or an environment "
                      "variable in capitals"};
    }
    process.identity.clock = hosts_[process.identity.host];
    for (const Word& word : environment) add_setting(process, line.number, word);
    story_.processes.push_back(std::move(process));
  }

  // False: no such key.
  bool set_process(Process& process, const Word& word, std::vector<Word>& environment) {
    ScribeIdentity& identity = process.identity;
    const auto& [key, text] = word;
    if (key == "rank") {
      environment.push_back({"RANK", text});
    } else if (key == "world") {
      environment.push_back({"WORLD_SIZE", text});
    } else if (std::isupper(static_cast<unsigned char>(key[0]))) {
      environment.push_back(word);
    } else if (key == "host") {
      identity.host = text;
    } else if (key == "pid") {
      identity.pid = static_cast<std::int32_t>(parse_integer(text));
    } else if (key == "parent") {
      const ScribeIdentity& parent = selected(text).front()->identity;
      identity.parent_pid = parent.pid;
      identity.parent_start_ns = parent.start_ns;
    } else if (key == "parent_pid") {
      identity.parent_pid = static_cast<std::int32_t>(parse_integer(text));
    } else if (key == "start") {
      identity.start_ns = parse_seconds(text);
    } else if (key == "opened") {
      identity.opened_ns = parse_seconds(text);
    } else if (key == "until") {
      process.until_ns = parse_seconds(text);
    } else if (key == "ring") {
      identity.ring_bytes = static_cast<std::uint64_t>(parse_integer(text));
    } else if (key == "fold") {
      identity.folds = parse_integer(text) != 0;
    } else {
      return false;
    }
    return true;
  }

  static void add_setting(Process& process, int line, const Word& word) {
    Event event{line,
                1,
                process.identity.began_ns(),
                process.identity.began_ns(),
                trace::find_call(static_cast<std::uint16_t>(trace::Call::environment)),
                {},
                0,
                {},
                {},
                {}};
    set_field(event, trace::info_of(trace::PayloadKind::kSetting), "name", word.key);
    set_field(event, trace::info_of(trace::PayloadKind::kSetting), "value", word.text);
    process.events.push_back(std::move(event));
  }

  void health(const Line& line) {
    for (Process* process : selected(line.words[1].text))
      for (std::size_t i = 2; i < line.words.size(); ++i) set_health(*process, line.words[i]);
  }

  static void set_health(Process& process, const Word& word) {
    for (const trace::HealthInfo& info : trace::kHealth) {
      if (word.key != info.name) continue;
      process.health[static_cast<std::uint8_t>(info.index)] =
          static_cast<std::uint64_t>(parse_integer(word.text));
      return;
    }
    throw Mistake{"no health counter '" + word.key + "'", "counters are listed in trace/health.def"};
  }

  // SELECTOR[/THREAD] TIME +DURATION|inside CALL FIELD=VALUE...   or   SELECTOR[/THREAD] TIME item
  // FIELD=VALUE...   or   SELECTOR[/THREAD] TIME +DURATION gpu FIELD=VALUE...
  void event(const Line& line) {
    const std::vector<Word>& words = line.words;
    Event event{line.number, 1, 0, 0, nullptr, {}, 0, {}, {}, {}};
    std::string who = words[0].text;
    if (std::size_t slash = who.find('/'); slash != who.npos) {
      event.thread = thread_number(who.substr(slash + 1));
      who.resize(slash);
    }
    std::vector<Process*> processes = selected(who);
    bool item = words.size() > 2 && words[2].text == "item";
    if (words.size() < 3 || (!item && words.size() < 4))
      throw Mistake{"an event is cut short", "write: PROCESS TIME +DURATION CALL FIELD=VALUE..."};
    event.begin_ns = parse_seconds(words[1].text) + line.shift_ns;
    event.end_ns = item ? event.begin_ns : end_of(event.begin_ns, words[2].text);
    bool device = !item && words[3].text == "gpu";
    event.statement = item ? Statement::kItem : device ? Statement::kDevice : Statement::kCall;
    if (event.statement == Statement::kCall) event.call = &call_named(words[3].text);
    read_fields(event, words, item ? 3 : 4);
    for (Process* process : processes) process->events.push_back(event);
  }

  static const trace::PayloadInfo& payload_of(const Event& event) {
    switch (event.statement) {
      case Statement::kItem:
        return kItem;
      case Statement::kDevice:
        return kDevice;
      default:
        return trace::info_of(event.call->payload);
    }
  }

  static void read_fields(Event& event, const std::vector<Word>& words, std::size_t first) {
    const trace::PayloadInfo& payload = payload_of(event);
    set_defaults(event, payload);
    for (std::size_t i = first; i < words.size(); ++i) {
      if (!words[i].has_key()) throw Mistake{"'" + words[i].text + "' is not FIELD=VALUE"};
      if (words[i].key == "stack")
        event.stack = parse_stack(words[i].text);
      else if (words[i].key == "label")
        event.label = words[i].text;
      else if (words[i].key == "tells")
        tell_entries(event, payload, words[i].text);
      else
        set_field(event, payload, words[i].key, words[i].text);
    }
  }

  static std::int64_t end_of(std::int64_t begin_ns, const std::string& word) {
    if (word == "inside") return TraceScribe::kInside;
    if (!word.starts_with("+"))
      throw Mistake{"'" + word + "' is no duration",
                    "write +SECONDS, or inside for a call that never returns"};
    return begin_ns + parse_seconds(word.substr(1));
  }

  static std::uint16_t thread_number(const std::string& text) {
    std::int64_t number = parse_integer(text);
    if (number < 1 || number > 1024) throw Mistake{"threads are numbered from 1 to 1024"};
    return static_cast<std::uint16_t>(number);
  }

  // r1, a list r0,r2 or a pattern r*: the processes that were declared so far and match.
  std::vector<Process*> selected(std::string_view selector) {
    std::vector<Process*> found;
    while (!selector.empty()) {
      std::size_t comma = std::min(selector.find(','), selector.size());
      std::string pattern(selector.substr(0, comma));
      selector.remove_prefix(std::min(comma + 1, selector.size()));
      std::size_t before = found.size();
      for (Process& process : story_.processes)
        if (fnmatch(pattern.c_str(), process.name.c_str(), 0) == 0) found.push_back(&process);
      if (found.size() == before)
        throw Mistake{"no process '" + pattern + "'", "declare it before: process " + pattern + " rank=0"};
    }
    if (found.empty()) throw Mistake{"no process is named"};
    return found;
  }

  Story story_;
  std::map<std::string, HostClock> hosts_;
};

}  // namespace

Story read_story(std::string_view text) {
  StoryReader reader;
  expand_lines(text, [&reader](const Line& line) { reader.use(line); });
  return reader.take();
}

}  // namespace ddpscope::tests
