// Our time as CUPTI's one client: when it begins, who else may have it, when it ends.
#pragma once
#include <cupti.h>

#include <cstdint>

#include "trace/write/file_writer.h"

namespace ddpscope::injector {

// Subscribes, and has kernels, copies and fills recorded from here on. What stands against it, in words;
// nullptr: it is done. In a thread of the guest that uses CUDA, once a process. To a client that our hooks
// have seen CUPTI is lent then; one that no hook saw keeps it for good, as it could come again as unseen.
const char* start_cupti(trace::FileWriter& file);

// Another client comes (the program called CUPTI itself): what was recorded is written down, CUPTI is free,
// and device work is timed by events until the other one has gone for a second.
class CuptiLoan {
 public:
  CuptiLoan();
  ~CuptiLoan();  // behind the real call: until then we do not take CUPTI either
  CuptiLoan(const CuptiLoan&) = delete;
  CuptiLoan& operator=(const CuptiLoan&) = delete;
};
// The other one subscribed, and unsubscribed; it has kinds of records enabled, and callbacks for buffers of
// its own, which are set again before it enables anything.
void note_cupti_client(bool subscribed);
void note_cupti_end();  // it has gone with all that it had
void note_cupti_kind(CUpti_ActivityKind kind, bool enabled);
// What holds for one context supersedes what holds for all, ours too, and nothing takes it back but the end.
void note_cupti_context();
void note_cupti_flush();  // it has got all that was recorded
void note_cupti_callbacks(CUpti_BuffersCallbackRequestFunc request,
                          CUpti_BuffersCallbackCompleteFunc complete);
void restore_cupti_callbacks();
// Instead of the client's own callback: a buffer of ours, which CUPTI may still have, is none of its.
CUpti_BuffersCallbackCompleteFunc complete_for_client(CUpti_BuffersCallbackCompleteFunc complete);
// Whether the kind is recorded for us now: a client that has gone and disables it does not mean us.
bool records_cupti_kind(CUpti_ActivityKind kind);

void finish_cupti();  // the process ends; waits for a fifth of a second at most
void forget_cupti();  // after fork
bool uses_cupti();    // now, or before it was lent

}  // namespace ddpscope::injector
