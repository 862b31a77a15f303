// Finding the runtime: never by linking, so that loading this library loads nothing else.
#include "standin/cupti/runtime.h"

#include "standin/cuda/find_runtime.h"
#include "standin/cupti/boundary.h"

namespace ddpscope::standin::cupti {

const Runtime& runtime() {
  const Runtime* known = find_runtime_for("libcupti", "nothing is recorded");
  if (!known) throw Failure{CUPTI_ERROR_NOT_INITIALIZED};
  return *known;
}

}  // namespace ddpscope::standin::cupti
