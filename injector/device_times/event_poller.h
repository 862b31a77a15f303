// The one thread that timing by events needs: it reads the pairs that devices have passed and writes their
// times down. It starts with the first collective that is timed, so in no process that does not use CUDA.
#pragma once

namespace ddpscope::injector {

bool start_event_poller();  // false: it cannot be had, or the process ends
bool event_poller_runs();
void finish_event_poller();  // one last look; then it is gone. Waits for that a twentieth of a second at most
void forget_event_poller();  // after fork, with all pairs

}  // namespace ddpscope::injector
