// Linux' numbers of errors and signals by name.
#pragma once

namespace ddpscope::model {

const char* name_of_error(int number);   // "ENOENT"; null: no such error
const char* name_of_signal(int number);  // "SIGTERM"; null: a real-time signal, or none

}  // namespace ddpscope::model
