// Of one call, whatever its kind: the file that it is about.
#pragma once
#include <string>

#include "collector/model/job.h"

namespace ddpscope::files {

// The path that the call names, or under which the file that it works on was opened. Empty if it is about
// none, or the opening is not known.
std::string called_file(const model::Job& job, model::EventRef event);

}  // namespace ddpscope::files
