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

  bool operator==(const EventPlace&) const = default;
};

namespace detail {

// Chunks that follow each other: one thread's, of one budget. Each is in time order by itself.
struct Lane {
  const std::vector<trace::RecordSpan>* spans;
  const trace::OperationSet* wanted;
  std::vector<std::uint32_t> order;  // into *spans
  std::size_t at = 0;                // into order
  std::uint32_t index = 0;           // into the span
  trace::RecordReader reader{};      // of the span
  const trace::Record* here = nullptr;

  bool settle() {  // to the next record that is wanted
    for (; at < order.size(); ++at, index = 0) {
      const trace::Records& records = (*spans)[order[at]].records;
      if (index == 0) reader.open(records);
      for (; index < records.size(); ++index)
        if (here = &reader[index]; wanted->has(trace::operation_of(here->call))) return true;
    }
    return false;
  }
  const trace::Record& record() const { return *here; }  // until it settles anew
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

// Stands at one record after the other of the operations wanted. No index is built: the lanes are merged as
// they are read, and one lane is followed as long as no other has an earlier record. Chunks without any of
// the operations are not read.
class TimeOrder {
 public:
  TimeOrder(const trace::TraceFile& file, const trace::OperationSet& wanted)
      : wanted_(wanted), lanes_(detail::lanes_of(file, wanted_)), heap_(lanes_.size()) {
    for (std::size_t i = 0; i < heap_.size(); ++i) heap_[i] = i;
    std::make_heap(heap_.begin(), heap_.end(), later());
    follow();
  }
  TimeOrder(const TimeOrder&) = delete;  // the lanes point to wanted_

  bool done() const { return !lane_; }
  const trace::Record& record() const { return lane_->record(); }
  EventPlace place() const { return {lane_->order[lane_->at], lane_->index}; }
  void next() {
    ++lane_->index;
    bool more = lane_->settle();
    if (more && lane_->record().begin <= limit_) return;
    if (more)
      std::push_heap(heap_.begin(), heap_.end(), later());
    else
      heap_.pop_back();
    follow();
  }

 private:
  struct Later {
    const std::vector<detail::Lane>& lanes;
    bool operator()(std::size_t a, std::size_t b) const {
      return lanes[a].record().begin > lanes[b].record().begin;
    }
  };
  Later later() const { return {lanes_}; }

  // The lane with the earliest record stands behind the heap, up to the next lane's record.
  void follow() {
    lane_ = nullptr;
    if (heap_.empty()) return;
    std::pop_heap(heap_.begin(), heap_.end(), later());
    lane_ = &lanes_[heap_.back()];
    limit_ = heap_.size() > 1 ? lanes_[heap_.front()].record().begin : ~std::uint64_t{0};
  }

  const trace::OperationSet wanted_;
  std::vector<detail::Lane> lanes_;
  std::vector<std::size_t> heap_;
  detail::Lane* lane_ = nullptr;
  std::uint64_t limit_ = 0;
};

// Calls visit(EventPlace, const trace::Record&) for each record of the operations wanted.
template <class Visit>
void for_each_in_time(const trace::TraceFile& file, const trace::OperationSet& wanted, Visit&& visit) {
  for (TimeOrder order(file, wanted); !order.done(); order.next())
    if (order.record().call) visit(order.place(), order.record());
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
    const trace::Records& records = file.records()[span].records;
    trace::RecordReader reader(records);
    for (std::uint32_t index = 0; index < records.size(); ++index) {
      const trace::Record& record = reader[index];
      if (record.call && wanted.has(trace::operation_of(record.call))) visit(EventPlace{span, index}, record);
    }
  }
}

template <class Visit>
void for_each(const trace::TraceFile& file, Visit&& visit) {
  for_each(file, trace::OperationSet::all(), visit);
}

}  // namespace ddpscope::model
