// One pass over a rank's steps, and one over its copies.
#include "collector/patterns/batch_digests.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <unordered_map>
#include <unordered_set>

#include "collector/model/cuda_types.h"
#include "collector/model/time_order.h"
#include "collector/patterns/training_steps.h"

namespace ddpscope::patterns {
namespace {

using trace::Operation;
namespace payload = trace::payload;

constexpr std::size_t kMostSteps = 1000;
constexpr std::uint32_t kSampleWords = 64;
constexpr std::uint64_t kMadeOf = 4;         // bytes up for a byte down: 16-bit gradients, 64-bit results
constexpr std::uint32_t kMostReadBacks = 2;  // a loss, and whether it is finite
constexpr std::uint64_t kStateBytes =
    16;                              // a parameter: weights in two precisions, gradient, Adam's two moments
constexpr double kTolerance = 0.02;  // buffers besides the parameters
constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15u;

struct StepBounds {
  std::int64_t begin_ns, end_ns, reduced_ns;  // the last: its first reduction
  std::uint32_t ordinal;                      // of that one
  std::uint64_t elements;                     // reduced in it
};

std::vector<StepBounds> find_bounds(const model::Job& job, const matching::Collectives& collectives,
                                    const matching::Member& member) {
  std::vector<StepBounds> bounds;
  RankSteps rank = find_steps(job, collectives, member.process, {}, kMostSteps);
  for (const Step& step : rank.steps) {
    StepBounds found{step.begin_ns, step.end_ns, 0, 0, 0};
    for (std::uint32_t i = step.first_entry; i < step.end_entry; ++i) {
      const StepEntry& entry = rank.entries[i];
      if (entry.kind != StepEntry::Kind::kReduction) continue;
      const matching::CallForm& call = collectives.calls.form(entry.call);
      if (&collectives.member_of(call) != &member) continue;
      if (!found.elements) {
        found.reduced_ns = entry.begin_ns;
        found.ordinal = static_cast<std::uint32_t>(collectives.ordinal_of(entry.call));
      }
      found.elements += call.signature.count;
    }
    if (found.elements) bounds.push_back(found);
  }
  return bounds;
}

struct Copied {
  std::uint64_t key;  // of content and length
  std::uint64_t bytes;
  std::uint32_t words;
  model::EventPlace place;
};

// What came to the device in one step, and what left it.
struct Content {
  std::vector<Copied> fresh;
  std::uint64_t read_back = 0;   // bytes
  std::uint32_t read_backs = 0;  // after the last fresh copy, before the first reduction

  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const Copied& copy : fresh) sum += copy.bytes;
    return sum;
  }
};

bool adds_up_to(std::uint64_t bytes, std::uint64_t elements) {
  return std::ranges::any_of(std::initializer_list<int>{1, 2, 4, 8}, [&](int size) {
    double state = static_cast<double>(elements) * size;
    return std::abs(static_cast<double>(bytes) - state) <= state * kTolerance;
  });
}

class Reader {
 public:
  Reader(const matching::Member& member, std::vector<StepBounds> steps)
      : steps_(std::move(steps)), result_{member.rank, member.process} {
    for (const StepBounds& step : steps_) result_.elements = std::max(result_.elements, step.elements);
  }

  bool done() const { return at_ == steps_.size(); }
  void see(model::EventPlace place, const trace::Record& record, std::int64_t at_ns);
  RankBatches finish() {
    if (!done()) close_step();
    std::ranges::sort(result_.brought, {}, &Brought::content);
    return std::move(result_);
  }

 private:
  bool inside(std::int64_t at_ns) const { return at_ns > steps_[at_].begin_ns; }
  void take(model::EventPlace copy, const payload::CopyDigest& digest, std::int64_t at_ns);
  void close_step();
  bool has_words() const;
  bool holds_samples() const;

  std::vector<StepBounds> steps_;
  std::size_t at_ = 0;
  Content content_;
  std::uint64_t read_back_before_ = 0;                           // in the step before, bytes
  std::unordered_map<std::uint16_t, model::EventPlace> copies_;  // the last one of each thread
  std::unordered_set<std::uint64_t> seen_;
  RankBatches result_;
};

void Reader::see(model::EventPlace place, const trace::Record& record, std::int64_t at_ns) {
  while (!done() && at_ns > steps_[at_].end_ns) close_step();
  if (done()) return;
  if (trace::operation_of(record.call) == Operation::kCopyDigest)
    return take(copies_[record.thread], trace::payload_of<payload::CopyDigest>(record), at_ns);
  copies_[record.thread] = place;
  auto copy = trace::payload_of<payload::Copy>(record);
  if (copy.kind != model::kDeviceToHost || !inside(at_ns)) return;
  content_.read_back += copy.bytes;
  content_.read_backs += at_ns < steps_[at_].reduced_ns;
}

void Reader::take(model::EventPlace copy, const payload::CopyDigest& digest, std::int64_t at_ns) {
  std::uint64_t key = (digest.hash ^ digest.bytes) * kMix;
  if (!seen_.insert(key).second) return;
  if (at_ == 0) result_.brought.push_back({key, digest.bytes});
  if (!inside(at_ns)) return;
  content_.fresh.push_back({key, digest.bytes, digest.words, copy});
  content_.read_backs = 0;
}

bool Reader::has_words() const {
  return std::ranges::any_of(content_.fresh, [](const Copied& copy) { return copy.words >= kSampleWords; });
}

bool Reader::holds_samples() const {
  std::uint64_t bytes = content_.bytes();
  return has_words() && bytes > kMadeOf * (content_.read_back + read_back_before_) &&
         content_.read_backs <= kMostReadBacks && !adds_up_to(bytes, steps_[at_].elements);
}

void Reader::close_step() {
  if (at_ > 0 && holds_samples()) {
    auto& fresh = content_.fresh;
    auto longest = std::ranges::max_element(fresh, {}, &Copied::bytes);
    model::EventPlace place = longest->place;
    // Copies of several threads come in no order of their own.
    std::ranges::sort(fresh, {}, &Copied::key);
    std::uint64_t content = 0;
    for (const Copied& copy : fresh) content = (content ^ copy.key) * kMix + (content >> 32);
    result_.batches.push_back({steps_[at_].ordinal, content, content_.bytes(), place});
  } else if (at_ > 0) {
    result_.doubtful += has_words();
  }
  read_back_before_ = content_.read_back;
  content_ = {};
  ++at_;
}

std::uint64_t bytes_only_in(const std::vector<Brought>& own, const std::vector<Brought>& other) {
  std::uint64_t bytes = 0;
  for (const Brought& copy : own)
    if (!std::ranges::binary_search(other, copy.content, {}, &Brought::content)) bytes += copy.bytes;
  return bytes;
}

}  // namespace

bool hold_their_own_data(const RankBatches& a, const RankBatches& b) {
  std::uint64_t model = std::max(a.elements, b.elements) * kStateBytes;
  return bytes_only_in(a.brought, b.brought) > model && bytes_only_in(b.brought, a.brought) > model;
}

RankBatches find_batches(const model::Job& job, const matching::Collectives& collectives,
                         const matching::Member& member) {
  constexpr trace::OperationSet kDigests{Operation::kCopyDigest};
  constexpr trace::OperationSet kCopies{Operation::kCopyDigest, Operation::kCopy};
  const trace::TraceFile& file = job.processes[member.process].file;
  if (file.count(kDigests) == 0) return {member.rank, member.process};
  Reader reader(member, find_bounds(job, collectives, member));
  for (model::TimeOrder order(file, kCopies); !order.done() && !reader.done(); order.next())
    if (order.record().call)
      reader.see(order.place(), order.record(), job.time_ns(member.process, order.record().begin));
  return reader.finish();
}

}  // namespace ddpscope::patterns
