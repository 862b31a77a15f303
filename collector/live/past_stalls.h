// Ranks of a job that is over, which waited over TCP for one that did not answer: stalls of collectives that
// are not NCCL's, by where `ddpscope run` saw the threads.
#pragma once
#include <string>
#include <vector>

#include "collector/findings/finding.h"
#include "collector/model/job.h"

namespace ddpscope::live {

struct PastStalls {
  std::vector<findings::Finding> findings;  // of hung-collective; ranks are those that did not answer
  std::vector<std::string> unjudged;
  bool judged = false;  // whether anything hung: the ranks speak over TCP by threads, or all ended with 0
};

// By the rule of find_unanswered(), at the last moment at which ranks were seen to wait before the first rank
// ended or was told to end. Stricter than that for a job that runs, which can be looked at again: a rank that
// computed or wrote files, however long, is not at fault. Nothing if all ranks ended with 0, or those that
// waited went on.
PastStalls find_past_stalls(const model::Job& job);

}  // namespace ddpscope::live
