// The calls of a job on communicators, in columns: what calls have in common when they are made again and
// again, in every step of a training, is kept once.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "collector/matching/columns.h"
#include "collector/model/job.h"
#include "trace/read/table.h"

namespace ddpscope::matching {

// What all members of a communicator must agree on.
struct Signature {
  trace::Operation operation = trace::Operation::kNone;
  std::uint8_t datatype = 0;
  std::uint8_t reduction = 0;  // 0 where the operation reduces nothing
  std::int32_t root = -1;      // -1 where the operation has none
  std::uint64_t count = 0;     // elements

  bool operator==(const Signature&) const = default;
};

// A call without its time.
struct CallForm {
  Signature signature;
  std::uint32_t communicator;  // index
  std::uint32_t member;        // index in the communicator
  std::uint32_t site;          // number of the code place, equal on all ranks; 0 unknown
  std::uint64_t stream;
  std::uint64_t buffer;
  std::uint16_t thread;
  std::uint8_t device;
  std::int32_t peer;  // of Send and Receive, rank in the communicator
  // Where it was captured before, and the launch of a graph runs it: number of the call's record.
  std::uint32_t captured = kNotCaptured;

  static constexpr std::uint32_t kNotCaptured = ~0u;
  bool by_graph() const { return captured != kNotCaptured; }
  bool operator==(const CallForm&) const = default;
};

struct CollectiveCall : CallForm {
  model::EventRef event;   // that runs it
  model::EventRef called;  // where the program calls it: `event`, or the call that was captured
  std::int64_t begin_ns;
  std::int64_t enqueue_ns;  // end of the call, or of the outermost group that it stands in
};

// Numbers the records of a process, span after span, so that a place takes four bytes.
class RecordNumbers {
 public:
  explicit RecordNumbers(const trace::TraceFile& file);

  std::uint32_t number(model::EventPlace place) const { return first_[place.span] + place.index; }
  model::EventPlace place(std::uint32_t number) const;

 private:
  std::vector<std::uint32_t> first_;  // of each span
};

// Process after process, each in the order of begin. Some 17 bytes a call where forms repeat.
class CallTable {
 public:
  std::uint32_t size() const { return begins_.size(); }
  bool empty() const { return size() == 0; }

  CollectiveCall operator[](std::uint32_t number) const;
  // Likewise, where no more of it is needed.
  const CallForm& form(std::uint32_t number) const { return forms_[form_of_[number]]; }
  const Signature& signature(std::uint32_t number) const { return form(number).signature; }
  bool is_at(std::uint32_t number, model::EventPlace place) const {  // of its process
    return numbers_[process_of_[number]].number(place) == records_[number];
  }
  std::int64_t begin_ns(std::uint32_t number) const { return begins_[number]; }
  std::int64_t enqueue_ns(std::uint32_t number) const { return enqueued_.at(number, begins_[number]); }

  void reserve(std::size_t calls);
  void begin_process(const trace::TraceFile& file);  // the next one
  void push_back(CollectiveCall call);               // of the process that was begun last
  void set_enqueue_ns(std::uint32_t number, std::int64_t ns) { enqueued_.set(number, ns, begins_[number]); }

 private:
  struct Hash {
    std::size_t operator()(const CallForm& form) const;
  };
  trace::Table<CallForm> forms_;
  std::unordered_map<CallForm, std::uint32_t, Hash> known_;  // forms of the process at hand
  trace::Table<std::uint32_t> form_of_;                      // by call, as all that follow
  trace::Table<std::uint32_t> records_;                      // by their numbers
  Times begins_;
  TimesAfter enqueued_;
  RepeatedValues<std::uint32_t> process_of_;
  std::vector<RecordNumbers> numbers_;  // by process
};

}  // namespace ddpscope::matching
