// Takes calls apart into columns, and puts them together again.
#include "collector/matching/call_table.h"

#include <algorithm>

namespace ddpscope::matching {

RecordNumbers::RecordNumbers(const trace::TraceFile& file) {
  std::uint32_t first = 0;
  for (const trace::RecordSpan& span : file.records()) {
    first_.push_back(first);
    first += static_cast<std::uint32_t>(span.records.size());
  }
}

model::EventPlace RecordNumbers::place(std::uint32_t number) const {
  // Of spans without a record, which begin at the same number, the last one has it.
  auto behind = std::upper_bound(first_.begin(), first_.end(), number);
  auto span = static_cast<std::uint32_t>(behind - first_.begin()) - 1;
  return {span, number - first_[span]};
}

std::size_t CallTable::Hash::operator()(const CallForm& form) const {
  std::uint64_t hash = 0;
  auto mix = [&](std::uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  };
  mix(form.signature.count ^ static_cast<std::uint64_t>(form.signature.operation) << 56);
  mix(form.buffer);
  mix(form.stream ^ std::uint64_t{form.site} << 32);
  mix(std::uint64_t{form.communicator} << 32 | form.thread);
  return hash;
}

CollectiveCall CallTable::operator[](std::uint32_t number) const {
  const CallForm& form = this->form(number);
  auto event_of = [&](std::uint32_t record) {
    return model::EventRef{process_of_[number], numbers_[process_of_[number]].place(record)};
  };
  model::EventRef event = event_of(records_[number]);
  return {form, event, form.by_graph() ? event_of(form.captured) : event, begin_ns(number),
          enqueue_ns(number)};
}

void CallTable::reserve(std::size_t calls) {
  form_of_.reserve(calls);
  records_.reserve(calls);
  begins_.reserve(calls);
  enqueued_.reserve(calls);
}

void CallTable::begin_process(const trace::TraceFile& file) {
  numbers_.emplace_back(file);
  known_.clear();
}

void CallTable::push_back(CollectiveCall call) {
  if (call.called.place != call.event.place) call.captured = numbers_.back().number(call.called.place);
  auto [found, fresh] = known_.try_emplace(call, static_cast<std::uint32_t>(forms_.size()));
  if (fresh) forms_.push_back(call);
  form_of_.push_back(found->second);
  records_.push_back(numbers_.back().number(call.event.place));
  begins_.push_back(call.begin_ns);
  enqueued_.push_back(call.enqueue_ns, call.begin_ns);
  process_of_.push_back(static_cast<std::uint32_t>(numbers_.size() - 1));
}

}  // namespace ddpscope::matching
