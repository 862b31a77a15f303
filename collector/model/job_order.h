// The records of several processes in the order in which their calls began.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "collector/model/job.h"

namespace ddpscope::model {

// Calls visit(EventRef, const trace::Record&) for each record of the operations wanted, of the processes
// chosen (one flag a process); calls that began at one time come in the order of the processes. Where a
// process's ticks wrap around, its records come in the order of the ticks.
template <class Visit>
void for_each_in_time(const Job& job, const std::vector<bool>& chosen, const trace::OperationSet& wanted,
                      Visit&& visit) {
  struct Head {
    std::int64_t begin_ns;
    std::uint32_t process;
    bool operator<(const Head& other) const {  // on top of the heap is what comes first
      return begin_ns != other.begin_ns ? begin_ns > other.begin_ns : process > other.process;
    }
  };
  std::vector<std::unique_ptr<TimeOrder>> orders(job.processes.size());
  std::vector<Head> heap;
  auto head_of = [&](std::uint32_t process) {
    return Head{job.time_ns(process, orders[process]->record().begin), process};
  };
  for (std::uint32_t process = 0; process < orders.size(); ++process) {
    if (!chosen[process]) continue;
    orders[process] = std::make_unique<TimeOrder>(job.processes[process].file, wanted);
    if (!orders[process]->done()) heap.push_back(head_of(process));
  }
  std::make_heap(heap.begin(), heap.end());
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    Head head = heap.back();
    heap.pop_back();
    TimeOrder& order = *orders[head.process];
    do {  // as long as no other process has an earlier one
      if (order.record().call) visit(EventRef{head.process, order.place()}, order.record());
      order.next();
      if (!order.done()) head = head_of(head.process);
    } while (!order.done() && (heap.empty() || heap.front() < head));
    if (order.done()) continue;
    heap.push_back(head);
    std::push_heap(heap.begin(), heap.end());
  }
}

}  // namespace ddpscope::model
