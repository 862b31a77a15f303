// Where in the program a call is made: not in the wrapper that calls from all over the program pass through.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "collector/matching/call_table.h"
#include "collector/model/job.h"
#include "collector/ordering/group_calls.h"

namespace ddpscope::detectors {

// The innermost frame of the program (no library's) that is not merely a wrapper called from several places.
// A function is one if the job's stacks show it under several callers, a source file if its functions are
// called from several places of other files. Only frames of the innermost file are passed over, and none that
// a library calls. Who calls back into a file that called it was handed what it calls (a decorator's wrapper,
// a function that runs another one on rank 0): that is no call from outside of the file.
class CodePlaces {
 public:
  explicit CodePlaces(const model::Job& job) : job_(job) {}

  // "FILE:LINE FUNCTION", shortened as names are; empty without a stack.
  std::string of(model::EventRef event) const;
  // Of a call that is told beside another: where both are in the same place, the innermost frame of the
  // program in which their stacks differ.
  std::string of(model::EventRef event, model::EventRef beside) const;
  // Of a collective that a graph runs the place of the call that was captured, ", in the graph launched at"
  // and the place of the launch.
  std::string of(const matching::CollectiveCall& call) const;
  std::string of(const matching::CollectiveCall& call, const matching::CollectiveCall& beside) const;
  // "c10d_allgather": the call on a process group of PyTorch in which NCCL's is made, where that is another
  // operation; empty if it is the same or a barrier, or none was recorded.
  std::string_view made_for(const matching::CollectiveCall& call) const;
  // The whole stack, for a key: what is equal for the same bug in another run of the program.
  std::string whole(model::EventRef event) const;

 private:
  using Stack = std::vector<std::string>;
  std::string frame_of(model::EventRef event) const;
  void load() const;  // at the first question: most jobs are healthy
  void learn(const Stack& stack) const;
  std::string with_launch(std::string place, const matching::CollectiveCall& call) const;
  // The frame that calls this one. Where a function that was handed it does so at its only line that calls
  // it: the frame of the file that handed it over.
  std::size_t caller_of(const Stack& stack, std::size_t frame) const;
  bool has_several_callers(const std::string& frame) const;
  bool is_called_from_several_files(const std::string& frame) const;

  const model::Job& job_;
  mutable std::map<std::uint32_t, ordering::GroupCalls> group_calls_;  // by process, of those asked about
  mutable bool loaded_ = false;
  mutable std::map<std::string, std::set<std::string>, std::less<>> callers_;  // by "FILE FUNCTION"
  mutable std::map<std::string, std::set<std::string>, std::less<>> entries_;  // frames of others, by file
};

}  // namespace ddpscope::detectors
