// Which build of the program this is.
#pragma once
#include <string>

namespace ddpscope::merged {

// The linker's hash of all that the running program is made of, in bytes: another commit, compiler or option
// is another build, the same built again is the same. Empty if it was linked without one.
std::string build_id();

}  // namespace ddpscope::merged
