// What a process group is called: torch.distributed puts a prefix before its store's keys for each level.
#pragma once
#include "injector/process_groups/groups.h"

namespace ddpscope::injector::torch {

// The prefixes in front of this store, outermost first: "default_pg/0/cpu", equal on all ranks of the group.
// Ends with 0; cut at kMaxGroupName. Empty: no prefix was seen. Returns its length.
std::size_t name_of_store(const void* store, char (&name)[kMaxGroupName]);

// Whether PyTorch was compiled with the std::string of before C++11: its symbols say so.
bool has_old_strings();

}  // namespace ddpscope::injector::torch
