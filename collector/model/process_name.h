// What people call a process of a job.
#pragma once
#include <string>

#include "collector/model/job.h"

namespace ddpscope::model {

// "HOST:PID". Of hosts with one name, see reading, the second is told as "HOST#2".
inline std::string process_name(const Job& job, const Process& process) {
  return job.hosts[process.host].name + ":" + std::to_string(process.header().pid);
}

}  // namespace ddpscope::model
