// Work that the program has given up while streams run it (NCCL's abort): when those streams go on.
//
// On a GPU an aborted kernel ends soon, and its stream goes on with what the kernel left in memory: no call
// fails. Whoever aborts in order to end the process (PyTorch's watchdog) races with a thread that waits for
// the stream, and could lose: the process would end as if all were well. Here the one who aborts comes first.
#pragma once

namespace ddpscope::standin {

/// The calling thread gives up work of streams. They are held until this thread uses a device again or ends,
/// because then the process lives on; 30 s at most.
void give_up_work();

/// In the thread of a stream, behind work that was given up: returns when the stream may go on.
void wait_until_let_go();

namespace detail {
extern constinit thread_local bool thread_gave_up;
void let_go();
}  // namespace detail

/// The calling thread uses a device.
inline void thread_goes_on() {
  if (detail::thread_gave_up) [[unlikely]]
    detail::let_go();
}

}  // namespace ddpscope::standin
