// Threads on which the CUDA runtime runs functions of the program that were enqueued to streams.
#pragma once
#include <set>
#include <vector>

#include "collector/model/job.h"
#include "collector/ordering/graph.h"

namespace ddpscope::ordering {

// Of these threads. Such a function (cudaLaunchHostFunc, cudaStreamAddCallback) comes after what was enqueued
// to its stream before it and before what is enqueued behind it; but when it ran shows in no record. A thread
// is taken for the runtime's if its process enqueues such functions, nobody was seen to make it, and it is
// not the first.
std::set<ThreadId> find_stream_function_threads(const model::Job& job, const std::vector<ThreadId>& threads);

}  // namespace ddpscope::ordering
