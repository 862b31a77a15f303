// Whether the environment gives this process a rank.
#pragma once

namespace ddpscope::injector {

// Before the guest can change its environment.
void read_rank_variables();

// Whether it is one rank of several. Not a shell: one with these variables becomes a rank or starts one, and
// reads its script. Nor a program that a rank has started, itself or by a shell: it has them by inheritance.
bool is_one_of_several();

}  // namespace ddpscope::injector
