// Waiting by looking again and again: listing a folder until something shows, reading a file until it says
// so or on when there is more, asking for its state until it is another one.
#pragma once
#include <vector>

#include "collector/files/shared_names.h"
#include "collector/model/job.h"
#include "collector/ordering/graph.h"

namespace ddpscope::ordering {

// What was waited for shows in no call: all edges are unseen. Marks in `synchronises`, by event of `names`,
// the reads that only wait.
void add_listing_edges(const model::Job& job, const files::SharedNames& names, Graph& graph);
void add_asking_edges(const model::Job& job, const files::SharedNames& names, Graph& graph);
void add_rereading_edges(const model::Job& job, const files::SharedNames& names, Graph& graph,
                         std::vector<bool>& synchronises);
void add_following_edges(const model::Job& job, const files::SharedNames& names, Graph& graph,
                         std::vector<bool>& synchronises);

}  // namespace ddpscope::ordering
