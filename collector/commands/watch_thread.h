// A thread of `run` that watches the job: it takes no signals, which are the job's, and little time.
#pragma once
#include <chrono>
#include <functional>
#include <stop_token>
#include <thread>

namespace ddpscope::commands {

std::jthread start_watch_thread(std::function<void(const std::stop_token&)> watch);

std::chrono::nanoseconds computed();  // by this thread

// How long to wait after a look that computed for so long: a second, longer where looks would take more than
// one part in `share` of a processor, but `most` at most.
std::chrono::nanoseconds pause_after(std::chrono::nanoseconds look, int share, std::chrono::nanoseconds most);

// False: it was asked to stop meanwhile.
bool sleep_for(std::chrono::nanoseconds time, const std::stop_token& stop);

}  // namespace ddpscope::commands
