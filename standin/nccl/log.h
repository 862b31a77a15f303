// Messages: kept for ncclGetLastError, printed to standard error when NCCL_DEBUG asks for warnings.
#pragma once

#include <string>

namespace ddpscope::standin::nccl {

/// Keeps `message` as the last error and, with NCCL_DEBUG=WARN, INFO or TRACE, prints it.
void warn(const std::string& message);

/// With NCCL_DEBUG=INFO or TRACE prints it.
void inform(const std::string& message);

/// Prints in any case: what the stand-in cannot do must not pass in silence.
void say(const std::string& message);

/// The latest warning of this process, "" if none; the text stays until this thread asks again.
const char* last_error();

/// Reads NCCL_DEBUG again.
void reset_log_level();

}  // namespace ddpscope::standin::nccl
