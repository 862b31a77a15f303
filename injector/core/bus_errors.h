// The one signal that ddpscope handles in a guest.
#pragma once

namespace ddpscope::injector {

// From now on a SIGBUS for a page of the trace file that is gone does not end the process
// (trace/write/lost_pages.h). Nothing is done where the signal is ignored or the guest handles it already;
// who handles it later is asked instead of us, and what it hands on comes here. Any other SIGBUS ends the
// process as if nobody handled it. The guest's alternate stack is used, if it has one.
void survive_lost_pages();

}  // namespace ddpscope::injector
