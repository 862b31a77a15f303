// What came and went in a folder, and who lists it.
#include <algorithm>
#include <map>
#include <string_view>

#include "collector/ordering/file_edges.h"
#include "collector/ordering/poll_edges.h"

namespace ddpscope::ordering {
namespace {

using files::FileEvent;
using files::kNoName;
using files::Name;

class Listings {
 public:
  Listings(const model::Job& job, const files::SharedNames& names, Graph& graph)
      : job_(job), names_(names), graph_(graph) {
    for (const FileEvent& event : names.events) {
      if (event.made != kNoName && event.fresh) note(event.made, event);
      if (files::removes(event) && event.name != kNoName) note(event.name, event);
    }
    for (auto& [folder_and_host, changes] : changes_)
      std::stable_sort(changes.begin(), changes.end(),
                       [](const FileEvent* a, const FileEvent* b) { return a->begin_ns < b->begin_ns; });
  }

  // Also by the folder's own name, if links lead to it: its opening tells.
  void see(const FileEvent& listing) {
    Name& own = own_.try_emplace({span_of(listing).thread, listing.name}, kNoName).first->second;
    if (listing.operation == trace::Operation::kOpenDirectory) own = listing.target;
    see(listing, listing.name);
    if (own != kNoName) see(listing, own);
  }

 private:
  void note(Name name, const FileEvent& change) {
    changes_[{files::folder_of(names_.places[name]), job_.processes[change.event.process].host}].push_back(
        &change);
  }

  // Of each thread the last change that this listing is the first one of its own thread to see.
  void see(const FileEvent& listing, Name folder) {
    for (std::uint32_t host = 0; host < job_.hosts.size(); ++host) see(listing, folder, host);
  }

  void see(const FileEvent& listing, Name folder, std::uint32_t host) {
    auto known = changes_.find({names_.places[folder], host});
    if (known == changes_.end()) return;
    ThreadId thread = span_of(listing).thread;
    std::size_t& seen = seen_[{thread, folder, host}];
    // A change may show before it returns.
    std::int64_t until_ns =
        listing.end_ns + job_.host_error_between(host, job_.processes[thread.process].host);
    std::map<ThreadId, const FileEvent*> latest;
    for (; seen < known->second.size(); ++seen) {
      const FileEvent* change = known->second[seen];
      if (change->begin_ns > until_ns) break;
      latest[span_of(*change).thread] = change;
    }
    for (const auto& [changer, change] : latest)
      if (changer.process != thread.process)
        graph_.edge(graph_.through(span_of(*change)), graph_.after(span_of(listing)), EdgeKind::kFile,
                    Trust::kUnseen);
  }

  const model::Job& job_;
  const files::SharedNames& names_;
  Graph& graph_;
  // By folder and the host on which it was changed; by begin.
  std::map<std::pair<std::string_view, std::uint32_t>, std::vector<const FileEvent*>> changes_;
  std::map<std::pair<ThreadId, Name>, Name> own_;
  std::map<std::tuple<ThreadId, Name, std::uint32_t>, std::size_t>
      seen_;  // how many of them, by who lists what
};

}  // namespace

void add_listing_edges(const model::Job& job, const files::SharedNames& names, Graph& graph) {
  Listings listings(job, names, graph);
  for (const FileEvent& event : names.events)
    if (files::lists(event.operation) && !event.error) listings.see(event);
}

}  // namespace ddpscope::ordering
