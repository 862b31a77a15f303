// The records of one process in the order in which their calls began, over all its threads and both budgets.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "trace/read/trace_file.h"

namespace ddpscope::model {

// A record by its place in TraceFile::records(): smaller than a pointer pair and stable while the job lives.
struct EventPlace {
  std::uint32_t span = 0;
  std::uint32_t index = 0;
};

namespace detail {

// Chunks that follow each other: one thread's, of one budget. Each is in time order by itself.
struct Lane {
  const std::vector<trace::RecordSpan>* spans;
  const trace::OperationSet* wanted;
  std::vector<std::uint32_t> order;  // into *spans
  std::size_t at = 0;                // into order
  std::uint32_t index = 0;           // into the span

  bool settle() {  // to the next record that is wanted
    for (; at < order.size(); ++at, index = 0) {
      std::span<const trace::Record> records = (*spans)[order[at]].records;
      for (; index < records.size(); ++index)
        if (wanted->has(trace::operation_of(records[index].call))) return true;
    }
    return false;
  }
  const trace::Record& record() const { return (*spans)[order[at]].records[index]; }
};

inline std::vector<Lane> lanes_of(const trace::TraceFile& file, const trace::OperationSet& wanted) {
  std::map<std::pair<std::uint16_t, trace::ChunkKind>, Lane> lanes;
  for (std::uint32_t i = 0; i < file.records().size(); ++i) {
    const trace::RecordSpan& span = file.records()[i];
    if (!span.operations.meets(wanted)) continue;
    Lane& lane = lanes[{span.thread, span.kind}];
    lane.spans = &file.records();
    lane.wanted = &wanted;
    lane.order.push_back(i);
  }
  std::vector<Lane> result;
  for (auto& [key, lane] : lanes)
    if (lane.settle()) result.push_back(std::move(lane));
  return result;
}

}  // namespace detail

// Calls visit(EventPlace, const trace::Record&) for each record of the operations wanted. No index is built:
// the lanes are merged as they are read, and one lane is followed as long as no other has an earlier record.
// Chunks without any of the operations are not read.
template <class Visit>
void for_each_in_time(const trace::TraceFile& file, const trace::OperationSet& wanted, Visit&& visit) {
  std::vector<detail::Lane> lanes = detail::lanes_of(file, wanted);
  auto later = [&](std::size_t a, std::size_t b) {
    return lanes[a].record().begin > lanes[b].record().begin;
  };
  std::vector<std::size_t> heap(lanes.size());
  for (std::size_t i = 0; i < heap.size(); ++i) heap[i] = i;
  std::make_heap(heap.begin(), heap.end(), later);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    detail::Lane& lane = lanes[heap.back()];
    std::uint64_t limit = heap.size() > 1 ? lanes[heap.front()].record().begin : ~std::uint64_t{0};
    bool more = true;
    do {
      const trace::Record& record = lane.record();
      if (record.call) visit(EventPlace{lane.order[lane.at], lane.index}, record);
      ++lane.index;
      more = lane.settle();
    } while (more && lane.record().begin <= limit);
    if (more)
      std::push_heap(heap.begin(), heap.end(), later);
    else
      heap.pop_back();
  }
}

// All of them, also of calls that this version does not know.
template <class Visit>
void for_each_in_time(const trace::TraceFile& file, Visit&& visit) {
  for_each_in_time(file, trace::OperationSet::all(), visit);
}

// The same without the order, for what only counts or collects.
template <class Visit>
void for_each(const trace::TraceFile& file, const trace::OperationSet& wanted, Visit&& visit) {
  for (std::uint32_t span = 0; span < file.records().size(); ++span) {
    if (!file.records()[span].operations.meets(wanted)) continue;
    const auto& records = file.records()[span].records;
    for (std::uint32_t index = 0; index < records.size(); ++index) {
      const trace::Record& record = records[index];
      if (record.call && wanted.has(trace::operation_of(record.call))) visit(EventPlace{span, index}, record);
    }
  }
}

template <class Visit>
void for_each(const trace::TraceFile& file, Visit&& visit) {
  for_each(file, trace::OperationSet::all(), visit);
}

}  // namespace ddpscope::model
