// Fills in what a text trace leaves out. A call that fails leaves no mark.
#include <algorithm>
#include <map>

#include "tests/tools/text_fields.h"
#include "tests/tools/text_story.h"

namespace ddpscope::tests {
namespace {

using trace::Operation;
using trace::PayloadInfo;

struct Moment {
  Process* process;
  Event* event;
};

std::vector<Moment> by_time(Story& story) {
  std::vector<Moment> moments;
  for (Process& process : story.processes)
    for (Event& event : process.events)
      if (event.call) moments.push_back({&process, &event});
  std::stable_sort(moments.begin(), moments.end(),
                   [](const Moment& a, const Moment& b) { return a.event->begin_ns < b.event->begin_ns; });
  return moments;
}

// A field of the event by name; position -1: its payload has none of that name.
class Field {
 public:
  Field(Event& event, std::string_view name)
      : event_(event), payload_(trace::info_of(event.call->payload)), index_(field_index(payload_, name)) {}

  bool exists() const { return index_ >= 0; }
  bool given() const { return exists() && (event_.given >> index_ & 1); }
  std::uint64_t value() const { return exists() ? get(event_, info()) : 0; }
  void set(std::uint64_t value) { put(event_, info(), value); }
  std::string text() const {
    for (const Text& text : event_.texts)
      if (exists() && text.offset == info().offset) return text.text;
    return {};
  }

 private:
  const trace::FieldInfo& info() const { return payload_.fields[static_cast<std::size_t>(index_)]; }
  Event& event_;
  const PayloadInfo& payload_;
  int index_;
};

// The n-th collective on a communicator of a process has sequence n, unless the text says otherwise.
class Sequences {
 public:
  void complete(const Moment& moment) {
    Field sequence(*moment.event, "sequence");
    if (!sequence.exists() || moment.event->call->operation == Operation::kCollectiveChoice) return;
    std::uint64_t& next = next_[{moment.process, Field(*moment.event, "communicator").value()}];
    if (sequence.given()) next = sequence.value();
    // What becomes of the call made last, unless the text says of another one.
    Operation operation = moment.event->call->operation;
    if ((operation == Operation::kGroupRun || operation == Operation::kGroupWait) && !sequence.given() &&
        next > 0)
      --next;
    sequence.set(next++);
  }

 private:
  std::map<std::pair<Process*, std::uint64_t>, std::uint64_t> next_;
};

// One file system for all: a path means the same inode until it is renamed, removed or replaced.
class Names {
 public:
  void complete(Event& event) {
    Field inode(event, "inode"), path(event, "path");
    if (!inode.exists() || path.text().empty() || Field(event, "error").value() != 0) return;
    if (!inode.given()) {
      inode.set(inode_of(path.text()));
      if (Field device(event, "device"); device.exists() && !device.given()) device.set(kDevice);
    }
    apply(event.call->operation, path.text(), Field(event, "target").text());
  }

 private:
  static constexpr std::uint64_t kDevice = 0x801;

  std::uint64_t inode_of(const std::string& path) {
    auto [entry, fresh] = inodes_.try_emplace(path, next_);
    if (fresh) ++next_;
    return entry->second;
  }

  void apply(Operation operation, const std::string& path, const std::string& target) {
    if (operation == Operation::kRename || operation == Operation::kLink) inodes_[target] = inode_of(path);
    if (operation == Operation::kRename || operation == Operation::kUnlink ||
        operation == Operation::kRemoveDirectory)
      inodes_.erase(path);
  }

  std::map<std::string, std::uint64_t> inodes_;
  std::uint64_t next_ = 1001;
};

// What a function hands over.
std::uint64_t kind_of(std::string_view function) {
  constexpr std::pair<std::string_view, std::uint64_t> kKinds[] = {
      {"pthread_cond", 1},    {"cnd", 1},  {"sem", 2}, {"pthread_rwlock", 6},
      {"pthread_barrier", 5}, {"futex", 4}};
  for (auto [prefix, kind] : kKinds)
    if (function.starts_with(prefix)) return kind;
  return 3;
}

// What the other thread had done by the time of the hand-over, unless the text says otherwise.
void complete_hand_over(Event& event) {
  if (event.call->operation != Operation::kHandOver) return;
  Field from_ticks(event, "from_ticks"), kind(event, "kind");
  if (!from_ticks.given()) from_ticks.set(static_cast<std::uint64_t>(event.begin_ns));
  if (!kind.given()) kind.set(kind_of(event.call->symbol));
}

// A folder is opened when its listing begins, unless the text says otherwise.
void complete_listing(Event& event) {
  Field since(event, "since");
  if (since.exists() && !since.given()) since.set(static_cast<std::uint64_t>(event.begin_ns));
}

}  // namespace

void complete_story(Story& story) {
  for (Process& process : story.processes)
    std::stable_sort(process.events.begin(), process.events.end(),
                     [](const Event& a, const Event& b) { return a.begin_ns < b.begin_ns; });
  Sequences sequences;
  Names names;
  for (const Moment& moment : by_time(story)) {
    sequences.complete(moment);
    names.complete(*moment.event);
    complete_hand_over(*moment.event);
    complete_listing(*moment.event);
  }
}

}  // namespace ddpscope::tests
