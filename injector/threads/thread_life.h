// Who a thread that ended was, for the thread that joins it.
#pragma once
#include <pthread.h>

#include <cstdint>

namespace ddpscope::injector {

void note_thread_start();  // in the new thread, before any of its calls
void note_thread_end();    // in the thread, while it still has its number

// The record thread number of a thread that has ended; 0: it made no record, or is not known any more.
std::uint32_t number_of_ended(pthread_t handle);

}  // namespace ddpscope::injector
