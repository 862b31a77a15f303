// What a program puts on its time line itself (NVTX): begins and ends are paired to intervals.
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "trace/calls.h"
#include "trace/read/trace_file.h"

namespace ddpscope::merged {

struct ProgramRange {
  trace::Record record;         // that began it
  std::uint64_t end_ticks = 0;  // 0: nothing ended it
};

class RangePairs {
 public:
  // In the order of begin.
  void take(const trace::Record& record);
  // By begin, what encloses first.
  std::vector<ProgramRange> finish();

 private:
  using Push = std::pair<std::uint16_t, std::uint32_t>;  // thread and domain: pops end the latest push
  std::map<Push, std::vector<trace::Record>> pushed_;
  std::map<std::uint64_t, trace::Record> started_;  // by id
  std::vector<ProgramRange> ranges_;
};

}  // namespace ddpscope::merged
