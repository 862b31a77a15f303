// Numbers the places in the code from which calls are made, so that equal places have equal numbers on all
// ranks.
#pragma once
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "collector/model/job.h"

namespace ddpscope::matching {

// Of a stack: a hash of each frame, innermost first; the same on all ranks.
std::vector<std::uint64_t> hash_frames(const trace::TraceFile& file, std::uint32_t stack);

class CallSites {
 public:
  explicit CallSites(const model::Job& job) : job_(job), known_(job.processes.size()) {}

  std::uint32_t number(std::uint32_t process, std::uint32_t stack);  // 0 if there is no stack
  std::uint32_t count() const { return static_cast<std::uint32_t>(frames_.size()); }
  // By number: a hash of each frame, innermost first.
  std::vector<std::vector<std::uint64_t>> take_frames() { return std::move(frames_); }

 private:
  const model::Job& job_;
  std::vector<std::unordered_map<std::uint32_t, std::uint32_t>> known_;  // per process: stack id to number
  std::map<std::vector<std::uint64_t>, std::uint32_t> by_frames_;
  std::vector<std::vector<std::uint64_t>> frames_{{}};  // number 0 is no stack
};

}  // namespace ddpscope::matching
