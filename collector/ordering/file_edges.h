// Files as signals: polling until one is there, publishing by rename, locks.
#pragma once
#include <vector>

#include "collector/files/shared_names.h"
#include "collector/model/job.h"
#include "collector/ordering/graph.h"

namespace ddpscope::ordering {

constexpr std::uint32_t kPolls = 2;  // so many failures in a row, then success: the caller waits for the name

// Returns, by event of `names`, which ones only synchronise: they wait for a name and do not rely on it.
std::vector<bool> add_file_edges(const model::Job& job, const files::SharedNames& names, Graph& graph);

Span span_of(const files::FileEvent& event);

// What is locked, or made exclusively, comes after what was done before it was unlocked, or removed.
void add_lock_edges(const model::Job& job, Graph& graph);

}  // namespace ddpscope::ordering
