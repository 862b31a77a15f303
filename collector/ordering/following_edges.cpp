// A file that one thread reads to its end, and then on when there is more; or tries to read again, when what
// was there of it was not enough.
#include <fcntl.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "collector/ordering/file_edges.h"
#include "collector/ordering/poll_edges.h"
#include "collector/ordering/waits.h"

namespace ddpscope::ordering {
namespace {

using files::FileEvent;
using files::kNoName;
using files::Name;
using trace::Operation;

class Following {
 public:
  Following(const model::Job& job, const files::SharedNames& names, Graph& graph,
            std::vector<bool>& synchronises)
      : job_(job), names_(names), graph_(graph), synchronises_(synchronises), work_(job), changes_(job) {}

  void add() {
    for (std::size_t i = 0; i < names_.events.size(); ++i) see(i);
    for (const auto& [opening, opened] : openings_)
      if (awaited_.contains(opened.name) || followed_.contains(opening)) bear_what_is_there(opened);
  }

 private:
  using OpeningId = std::pair<std::uint32_t, std::uint32_t>;  // process and number
  struct Opened {
    Name name = kNoName;
    std::size_t event = 0;
    std::vector<std::size_t> reads;
  };
  // The files that a thread uses one after the other.
  struct Turn {
    Name name = kNoName;
    std::size_t since = 0;
  };

  const FileEvent& event(std::size_t index) const { return names_.events[index]; }
  static OpeningId opening_of(const FileEvent& at) { return {at.event.process, at.opening}; }

  void see(std::size_t index) {
    const FileEvent& at = event(index);
    changes_.note_content(at);
    if (goes_with_waiting(at)) return;
    Turn& turn = turns_[span_of(at).thread];
    if (turn.name != at.name) turn = {at.name, index};
    if (at.operation == Operation::kOpen) openings_[opening_of(at)] = {at.name, index, {}};
    if (at.operation == Operation::kWrite) ends_.erase({span_of(at).thread, at.name});  // its own is no news
    if (at.operation == Operation::kRead && at.part) read(index);
  }

  void read(std::size_t index) {
    const FileEvent& at = event(index);
    openings_[opening_of(at)].reads.push_back(index);
    auto end = ends_.find({span_of(at).thread, at.name});
    if (at.bytes && end != ends_.end() && comes_back(end->second, index)) follow(event(end->second), at);
    if (!at.bytes) ends_[{span_of(at).thread, at.name}] = index;
  }

  // For more than there was up to the end that was found.
  bool comes_back(std::size_t end, std::size_t index) {
    const FileEvent& found = event(end);
    const FileEvent& at = event(index);
    bool same = at.opening == found.opening;
    if (at.from == found.from && (same || found.from)) return true;
    return !same && at.from == 0 && at.to > found.from && tries_again(end, index);
  }

  // From the same place, with nothing else in between: who reads a file twice, for two purposes, does not
  // wait.
  bool tries_again(std::size_t end, std::size_t index) {
    const FileEvent& found = event(end);
    const FileEvent& at = event(index);
    ThreadId thread = span_of(at).thread;
    auto place = [&](const FileEvent& read) {
      return job_.record(event(openings_[opening_of(read)].event).event).stack;
    };
    // The stack of an opening may be told once for each place.
    bool same_place = !place(at) || place(at) == place(found);
    return same_place && turns_[thread].since <= end && !work_.any_between(thread, found.end_ns, at.begin_ns);
  }

  // Who does other things in between looks what there is, and does not wait for it.
  void follow(const FileEvent& found, const FileEvent& at) {
    followed_.insert(opening_of(found));
    followed_.insert(opening_of(at));
    if (!work_.any_between(span_of(at).thread, found.end_ns, at.begin_ns)) awaited_.insert(at.name);
  }

  void bear_what_is_there(const Opened& opened) {
    for (std::size_t index : opened.reads) {
      const FileEvent& at = event(index);
      synchronises_[index] = true;
      if (!awaited_.contains(opened.name)) continue;
      for (const FileEvent* write : changes_.latest_before(span_of(at).thread, at.name, at.end_ns))
        graph_.edge(graph_.through(span_of(*write)), graph_.after(span_of(at)), EdgeKind::kFile,
                    Trust::kUnseen);
    }
  }

  const model::Job& job_;
  const files::SharedNames& names_;
  Graph& graph_;
  std::vector<bool>& synchronises_;
  OtherWork work_;
  Changes changes_;  // of contents
  std::map<ThreadId, Turn> turns_;
  std::map<OpeningId, Opened> openings_;
  std::map<std::pair<ThreadId, Name>, std::size_t> ends_;  // the last one that each thread found
  std::set<OpeningId> followed_;
  std::set<Name> awaited_;  // somebody waited for more; others may come late and find it there
};

}  // namespace

void add_following_edges(const model::Job& job, const files::SharedNames& names, Graph& graph,
                         std::vector<bool>& synchronises) {
  Following(job, names, graph, synchronises).add();
}

}  // namespace ddpscope::ordering
