// From one host of each group the tightest chain to every other one: Dijkstra's, a bound for a length.
#include "collector/alignment/host_lines.h"

#include <algorithm>
#include <queue>
#include <vector>

#include "collector/alignment/extents.h"

namespace ddpscope::alignment {
namespace {

using model::Alignment;
using model::ClockPiece;
using model::Host;
using model::Job;

// One moment by two clocks.
struct Knot {
  std::int64_t own_ns, other_ns;
};

// Two or more, ascending in both.
using Knots = std::vector<Knot>;

Knots turned(Knots knots) {
  for (Knot& knot : knots) std::swap(knot.own_ns, knot.other_ns);
  return knots;
}

std::vector<ClockPiece> pieces_of(const Knots& knots) {
  std::vector<ClockPiece> pieces;
  for (std::size_t i = 0; i + 1 < knots.size(); ++i)
    pieces.push_back({knots[i].own_ns, knots[i].other_ns,
                      static_cast<double>(knots[i + 1].other_ns - knots[i].other_ns) /
                          static_cast<double>(knots[i + 1].own_ns - knots[i].own_ns)});
  return pieces;
}

std::int64_t moved(const Knots& by, std::int64_t ns) { return model::job_ns(pieces_of(by), ns); }

// Through `first`, then through `second`; empty is no change.
Knots chained(const Knots& first, const Knots& second) {
  if (second.empty()) return first;
  std::vector<std::int64_t> own;
  for (const Knot& knot : first) own.push_back(knot.own_ns);
  for (const Knot& knot : second) own.push_back(moved(turned(first), knot.own_ns));
  std::sort(own.begin(), own.end());
  own.erase(std::unique(own.begin(), own.end()), own.end());
  Knots knots;
  for (std::int64_t ns : own) {
    Knot knot{ns, moved(second, moved(first, ns))};
    if (knots.empty() || knot.other_ns > knots.back().other_ns) knots.push_back(knot);
  }
  return knots;
}

struct Link {
  std::uint32_t to;
  Knots knots;  // from that host's clock to this one's
  std::int64_t error_ns;
  bool steady;
};

// What a rate other than 1 makes of a bound that was found in another clock's ns.
std::int64_t in_any_clock(std::int64_t error_ns) { return error_ns + error_ns / 256 + 1; }

class HostLines {
 public:
  HostLines(Job& job, Exchanges exchanges)
      : job_(job), extents_(host_extents(job)), links_(job.hosts.size()) {
    contradicts_.resize(job.hosts.size());
    for (auto& [pair, bounds] : exchanges) add_links(pair.first, pair.second, bounds);
  }

  // Groups are numbered by the host that they are aligned to.
  void run() {
    std::vector<bool> settled(job_.hosts.size());
    for (std::uint32_t i = 0; i < job_.hosts.size(); ++i)
      if (!settled[i]) settle_group(i, settled);
  }

 private:
  struct Chain {
    std::int64_t error_ns;
    std::uint32_t host;
    bool operator>(const Chain& other) const {
      return std::pair(error_ns, host) > std::pair(other.error_ns, other.host);
    }
  };

  // How much the rate of each clock is taken to change while it runs. The processor's clock is a crystal that
  // warms up; CLOCK_MONOTONIC is steered by NTP besides. docs/clocks.md.
  static double wander_of(const Host& host, const Job& job) {
    bool steered = false;
    for (const model::Process& process : job.processes)
      if (&job.hosts[process.host] == &host)
        steered = steered || process.header().clock == trace::ClockKind::kMonotonicNs;
    return steered ? 10e-6 : 1e-6;
  }

  void add_links(std::uint32_t a, std::uint32_t b, OffsetBounds& bounds) {
    const Extent &one = extents_[a], &other = extents_[b];
    double wander = wander_of(job_.hosts[a], job_) + wander_of(job_.hosts[b], job_);
    Offset offset = bounds.solve({one.first_ns, one.last_ns, other.first_ns, other.last_ns, wander});
    if (!offset.line && offset.why == NoLine::kContradiction) contradicts_[a] = contradicts_[b] = true;
    if (!offset.line) return;
    Knots there;
    for (const OffsetNode& node : offset.line->nodes)
      there.push_back({node.at_ns, node.at_ns + node.offset_ns});
    std::int64_t error_ns = in_any_clock(offset.line->error_ns);
    links_[b].push_back({a, there, error_ns, offset.line->steady});
    links_[a].push_back({b, turned(there), error_ns, offset.line->steady});
  }

  void settle_group(std::uint32_t first, std::vector<bool>& settled);

  Job& job_;
  std::vector<Extent> extents_;
  std::vector<std::vector<Link>> links_;  // by host: the others that it has a line with
  std::vector<bool> contradicts_;
};

void HostLines::settle_group(std::uint32_t first, std::vector<bool>& settled) {
  std::priority_queue<Chain, std::vector<Chain>, std::greater<>> next;
  std::vector<std::int64_t> best(job_.hosts.size(), model::kUnaligned);
  std::vector<Knots> knots(job_.hosts.size());
  std::vector<bool> steady(job_.hosts.size(), true);
  best[first] = 0;
  next.push({0, first});
  std::size_t members = 0;
  while (!next.empty()) {
    Chain chain = next.top();
    next.pop();
    if (settled[chain.host]) continue;
    settled[chain.host] = true;
    ++members;
    Host& host = job_.hosts[chain.host];
    host.group = first;
    host.clock_error_ns = chain.error_ns;
    host.alignment = steady[chain.host] ? Alignment::kSteady : Alignment::kUnsteady;
    if (!knots[chain.host].empty()) host.pieces = pieces_of(knots[chain.host]);
    for (const Link& link : links_[chain.host]) {
      std::int64_t error_ns = in_any_clock(chain.error_ns) + link.error_ns;
      if (settled[link.to] || error_ns >= best[link.to]) continue;
      best[link.to] = error_ns;
      knots[link.to] = chained(link.knots, knots[chain.host]);
      steady[link.to] = steady[chain.host] && link.steady;
      next.push({error_ns, link.to});
    }
  }
  if (members == 1)  // it keeps its place
    job_.hosts[first].alignment = contradicts_[first] ? Alignment::kContradiction : Alignment::kNoExchange;
}

}  // namespace

void align_by_exchanges(Job& job, Exchanges exchanges) { HostLines(job, std::move(exchanges)).run(); }

}  // namespace ddpscope::alignment
