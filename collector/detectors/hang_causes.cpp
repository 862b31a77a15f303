// A graph of hangs: from the one that a rank is missing in to the one in which it waits.
#include "collector/detectors/hang_causes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "collector/detectors/whereabouts.h"
#include "collector/ordering/device_order.h"

namespace ddpscope::detectors {
namespace {

using matching::CollectiveCall;
using matching::Communicator;
using matching::kNone;
using matching::Member;

class Graph {
 public:
  Graph(const CallFacts& facts, const ordering::StuckWork& stuck, std::vector<Hang>& hangs)
      : facts_(facts), stuck_(stuck), hangs_(hangs), edges_(hangs.size()) {}

  HangCauses find();

 private:
  struct Guess {
    std::size_t hang;
    std::uint32_t member;  // missing there
    std::size_t other;     // where another thread of its process waits
    auto operator<=>(const Guess&) const = default;
  };
  using Edges = std::map<std::uint32_t, std::set<std::size_t>>;  // by missing member: where it waits

  const Communicator& communicator(std::size_t hang) const {
    return facts_.collectives.communicators[hangs_[hang].communicator];
  }
  bool all_issued(std::size_t hang) const { return hangs_[hang].all_issued(facts_); }
  bool add_edges(std::size_t hang, std::uint32_t member, const std::vector<std::uint32_t>& ahead);
  void put_behind_stuck(std::size_t hang);
  void add_waits();
  bool may_wait_for_a_thread(std::size_t hang, std::uint32_t member) const;
  void close_by_threads();
  void excuse();
  void keep_what_counts();
  std::vector<std::size_t> path(std::size_t from, std::size_t to) const;
  void find_reach();
  bool leads(std::size_t from, std::size_t to) const { return reach_[from][to]; }
  bool has_root(std::size_t hang) const { return edges_[hang].size() < hangs_[hang].missing().size(); }
  std::size_t root_of(std::size_t hang) const;
  std::set<std::int32_t> at_fault(std::size_t hang) const;
  bool only_lost(std::size_t hang) const;
  void close_circle(HangCause& cause) const;
  std::size_t cause_for(std::size_t root);

  const CallFacts& facts_;
  const ordering::StuckWork& stuck_;
  std::vector<Hang>& hangs_;
  std::vector<Edges> edges_;
  std::set<Guess> guesses_;               // edges that close a circle, and are in edges_ then
  std::vector<std::vector<bool>> reach_;  // by hang: which others edges lead to, itself if in a circle
  HangCauses result_;
  std::map<std::int32_t, std::size_t> cause_of_rank_;  // at fault
  std::map<std::size_t, std::size_t> cause_of_root_;   // by hang
  std::optional<std::size_t> cause_of_lost_, cause_of_unseen_;
};

// To the hangs whose calls, or what was issued in their place, stand ahead of what the member issued.
bool Graph::add_edges(std::size_t hang, std::uint32_t member, const std::vector<std::uint32_t>& ahead) {
  bool any = false;
  for (std::size_t other = 0; other < hangs_.size(); ++other) {
    Members stuck = hangs_[other].waiting;
    stuck.insert(stuck.end(), hangs_[other].other.begin(), hangs_[other].other.end());
    for (std::uint32_t m : stuck) {
      if (other == hang || !std::count(ahead.begin(), ahead.end(), hangs_[other].issued(facts_, m))) continue;
      edges_[hang][member].insert(other);
      any = true;
    }
  }
  return any;
}

// For some members it stands behind another call that cannot, of whatever communicator. If no host waits for
// that one, it is not known since when it stands, nor what for.
void Graph::put_behind_stuck(std::size_t hang) {
  Hang& one = hangs_[hang];
  for (std::uint32_t m = 0; m < communicator(hang).members.size(); ++m)
    if (add_edges(hang, m, stuck_.ahead_of(one.issued(facts_, m)))) one.behind.push_back(m);
  one.behind_unawaited = one.behind.empty() && !stuck_.can_complete(one.issued(facts_, one.waiting.front()));
  one.counts = one.counts && !one.behind_unawaited;
}

// Threads of missing members that wait elsewhere.
void Graph::add_waits() {
  std::map<std::pair<std::uint32_t, std::uint16_t>, std::set<std::size_t>> waits;  // by process and thread
  for (std::size_t h = 0; h < hangs_.size(); ++h) {
    std::vector<std::uint32_t> stuck = hangs_[h].waiting;
    stuck.insert(stuck.end(), hangs_[h].other.begin(), hangs_[h].other.end());
    for (std::uint32_t m : stuck) {
      const Member& member = communicator(h).members[m];
      const ordering::Completion& completion = facts_.device_order.completions[hangs_[h].issued(facts_, m)];
      if (completion.wait == kNone && completion.blocked != kNone)
        waits[{member.process, facts_.device_order.waits[completion.blocked].thread}].insert(h);
    }
  }
  for (std::size_t h = 0; h < hangs_.size(); ++h)
    for (std::uint32_t m : hangs_[h].absent) {
      if (hangs_[h].is_lost(m)) continue;  // whatever it waited for, it comes no more
      const Member& member = communicator(h).members[m];
      std::set<std::uint16_t> threads = issuing_threads(facts_.collectives, member);
      for (const auto& [place, where] : waits) {
        if (place.first != member.process) continue;
        bool itself = threads.empty() || threads.count(place.second);
        for (std::size_t other : where) {
          if (other == h) continue;
          if (itself)
            edges_[h][m].insert(other);
          else
            guesses_.insert({h, m, other});
        }
      }
    }
}

// A join of another thread is no other business, nor is what leaves no record.
bool Graph::may_wait_for_a_thread(std::size_t hang, std::uint32_t member) const {
  if (edges_[hang].contains(member)) return false;
  Whereabouts found = find_whereabouts(facts_.job, facts_.collectives, communicator(hang).members[member],
                                       hangs_[hang].call(facts_).begin_ns);
  return !found.inside ||
         trace::operation_of(facts_.job.record(*found.event).call) == trace::Operation::kThreadJoin;
}

void Graph::close_by_threads() {
  std::erase_if(guesses_, [&](const Guess& one) { return !may_wait_for_a_thread(one.hang, one.member); });
  std::vector<Edges> known = edges_;
  for (const Guess& one : guesses_) edges_[one.hang][one.member].insert(one.other);
  find_reach();
  edges_ = std::move(known);
  std::erase_if(guesses_, [&](const Guess& one) { return !leads(one.other, one.hang); });
  for (const Guess& one : guesses_) edges_[one.hang][one.member].insert(one.other);
}

void Graph::find_reach() {
  reach_.assign(hangs_.size(), std::vector<bool>(hangs_.size()));
  for (std::size_t start = 0; start < hangs_.size(); ++start) {
    std::vector<std::size_t> open{start};
    while (!open.empty()) {
      std::size_t hang = open.back();
      open.pop_back();
      for (const auto& [member, where] : edges_[hang])
        for (std::size_t other : where) {
          if (reach_[start][other]) continue;
          reach_[start][other] = true;
          open.push_back(other);
        }
    }
  }
}

// Who waits for those that wait for one that was at work, hangs no more than they do.
void Graph::excuse() {
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t h = 0; h < hangs_.size(); ++h) {
      std::vector<std::uint32_t> missing = hangs_[h].missing();
      bool excused = std::all_of(missing.begin(), missing.end(), [&](std::uint32_t m) {
        auto where = edges_[h].find(m);
        return where != edges_[h].end() &&
               std::any_of(where->second.begin(), where->second.end(),
                           [&](std::size_t other) { return hangs_[other].at_work; });
      });
      if (missing.empty() || !excused || !hangs_[h].counts || hangs_[h].gone || hangs_[h].given_up) continue;
      hangs_[h].counts = false;
      hangs_[h].at_work = changed = true;
    }
  }
}

// A hang that may be none explains nothing; a circle in which one counts does, for nobody in it can go on.
void Graph::keep_what_counts() {
  find_reach();
  std::vector<bool> counts(hangs_.size());
  for (std::size_t h = 0; h < hangs_.size(); ++h) {
    counts[h] = hangs_[h].counts;
    for (std::size_t g = 0; g < hangs_.size() && !counts[h]; ++g)
      counts[h] = hangs_[g].counts && leads(h, g) && leads(g, h);
  }
  for (Edges& edges : edges_)
    for (auto edge = edges.begin(); edge != edges.end();) {
      std::erase_if(edge->second, [&](std::size_t hang) { return !counts[hang]; });
      edge = edge->second.empty() ? edges.erase(edge) : std::next(edge);
    }
  find_reach();
}

// The shortest way along edges, without `from` and with `to`; empty if there is none.
std::vector<std::size_t> Graph::path(std::size_t from, std::size_t to) const {
  std::map<std::size_t, std::size_t> came_from;
  std::vector<std::size_t> front{from};
  while (!front.empty() && !came_from.contains(to)) {
    std::vector<std::size_t> next;
    for (std::size_t hang : front)
      for (const auto& [member, where] : edges_[hang])
        for (std::size_t other : where)
          if (came_from.emplace(other, hang).second) next.push_back(other);
    front = std::move(next);
  }
  if (!came_from.contains(to)) return {};
  std::vector<std::size_t> way{to};
  for (std::size_t at = came_from[to]; at != from; at = came_from[at]) way.insert(way.begin(), at);
  return way;
}

// Itself if a member is at fault or if it is part of a circle; else where those lead that are missing.
std::size_t Graph::root_of(std::size_t hang) const {
  if (has_root(hang) || edges_[hang].empty()) return hang;
  for (std::size_t other = 0; other < hangs_.size(); ++other)
    if (other != hang && (has_root(other) || edges_[other].empty()) && leads(hang, other)) return other;
  for (std::size_t other = 0; other < hangs_.size(); ++other)
    if ((other == hang || leads(hang, other)) && leads(other, other)) return other;
  return hang;
}

std::set<std::int32_t> Graph::at_fault(std::size_t hang) const {
  std::set<std::int32_t> ranks;
  for (std::uint32_t m : hangs_[hang].missing())
    if (!edges_[hang].contains(m)) ranks.insert(communicator(hang).members[m].rank);
  return ranks;
}

void Graph::close_circle(HangCause& cause) const {
  std::vector<std::size_t> circle = path(cause.chain.front(), cause.chain.front());
  std::rotate(circle.begin(), circle.end() - 1, circle.end());
  cause.chain = std::move(circle);
  std::set<std::int32_t> guessed;
  for (std::size_t i = 0; i < cause.chain.size(); ++i) {
    std::size_t next = cause.chain[(i + 1) % cause.chain.size()];
    std::vector<std::int32_t>& ranks = cause.ranks.emplace_back();
    for (const auto& [member, where] : edges_[cause.chain[i]]) {
      if (!where.contains(next)) continue;
      ranks.push_back(communicator(cause.chain[i]).members[member].rank);
      if (guesses_.contains({cause.chain[i], member, next})) guessed.insert(ranks.back());
    }
    std::sort(ranks.begin(), ranks.end());
  }
  cause.by_another_thread.assign(guessed.begin(), guessed.end());
}

bool Graph::only_lost(std::size_t hang) const {
  const Hang& root = hangs_[hang];
  Members culprits = root.missing();
  std::erase_if(culprits, [&](std::uint32_t m) { return edges_[hang].contains(m); });
  culprits.insert(culprits.end(), root.cut.begin(), root.cut.end());
  return !culprits.empty() &&
         std::all_of(culprits.begin(), culprits.end(), [&](std::uint32_t m) { return root.is_lost(m); });
}

// Roots with a rank at fault in common are one cause, and so are those of which the ranks at fault were lost,
// and those of which only ranks without a trace can be missing.
std::size_t Graph::cause_for(std::size_t root) {
  if (auto known = cause_of_root_.find(root); known != cause_of_root_.end()) return known->second;
  std::size_t cause = result_.causes.size();
  std::set<std::int32_t> ranks = at_fault(root);
  for (std::int32_t rank : ranks)
    if (cause_of_rank_.contains(rank)) cause = cause_of_rank_[rank];
  if (only_lost(root)) cause = cause_of_lost_.value_or(cause), cause_of_lost_ = cause;
  if (hangs_[root].misses_only_unseen(facts_))
    cause = cause_of_unseen_.value_or(cause), cause_of_unseen_ = cause;
  for (std::int32_t rank : ranks) cause_of_rank_.emplace(rank, cause);
  if (cause == result_.causes.size()) {
    HangCause& added = result_.causes.emplace_back();
    added.chain = {root};
    if (ranks.empty() && leads(root, root)) close_circle(added);
    for (std::size_t hang : added.chain) cause_of_root_[hang] = cause;
  }
  cause_of_root_[root] = cause;
  return cause;
}

HangCauses Graph::find() {
  for (std::size_t h = 0; h < hangs_.size(); ++h)
    if (hangs_[h].answer != kNone)
      add_edges(h, hangs_[h].behind.front(), stuck_.ahead_of(hangs_[h].answer));
    else if (all_issued(h))
      put_behind_stuck(h);
  add_waits();
  close_by_threads();
  excuse();
  keep_what_counts();
  std::vector<std::size_t> order;
  for (std::size_t h = 0; h < hangs_.size(); ++h) order.push_back(h);
  auto rank_of = [&](std::size_t h) { return std::pair(!hangs_[h].counts, hangs_[h].call(facts_).begin_ns); };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rank_of(a) < rank_of(b); });
  for (std::size_t hang : order) {
    HangCause& cause = result_.causes[cause_for(root_of(hang))];
    if (!std::count(cause.chain.begin(), cause.chain.end(), hang)) cause.others.push_back(hang);
  }
  for (const Edges& edges : edges_) {
    result_.victims.emplace_back();
    for (const auto& [member, where] : edges) result_.victims.back().push_back(member);
  }
  return std::move(result_);
}

}  // namespace

HangCauses find_causes(const CallFacts& facts, const ordering::StuckWork& stuck, std::vector<Hang>& hangs) {
  return Graph(facts, stuck, hangs).find();
}

}  // namespace ddpscope::detectors
