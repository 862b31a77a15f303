// What the runtime calls while somebody looks on.
#pragma once

#include "standin/cuda/observer.h"

namespace ddpscope::standin::cupti {

/// Makes callbacks and records of what it is told, as the Session wants them.
Observer& client();

}  // namespace ddpscope::standin::cupti
