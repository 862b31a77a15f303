// CUPTI as it is found at run time: the copy that the program has loaded, else the one that its loader finds.
#pragma once
#include <cupti.h>

namespace ddpscope::injector {

struct Cupti {
  decltype(&cuptiSubscribe) subscribe;
  decltype(&cuptiUnsubscribe) unsubscribe;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks;
  decltype(&cuptiActivityEnable) enable;
  decltype(&cuptiActivityDisable) disable;
  decltype(&cuptiActivityEnableRuntimeApi) enable_runtime;  // may be missing
  decltype(&cuptiActivityEnableDriverApi) enable_driver;    // may be missing
  decltype(&cuptiActivityFlushAll) flush;
  decltype(&cuptiActivityGetNextRecord) next_record;
  decltype(&cuptiActivityGetNumDroppedRecords) dropped;
  decltype(&cuptiActivityPushExternalCorrelationId) push;
  decltype(&cuptiActivityPopExternalCorrelationId) pop;
  decltype(&cuptiGetTimestamp) timestamp;
  decltype(&cuptiGetResultString) name_of;  // may be missing
  decltype(&cuptiGetLastError) last_error;  // may be missing
};

// Loads it at the first call, which makes system calls and allocates. nullptr: there is none.
const Cupti* cupti();

}  // namespace ddpscope::injector
