// The calls as points of a time graph.
#include "collector/patterns/step_replay.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "collector/patterns/time_graph.h"

namespace ddpscope::patterns {
namespace {

using Kind = DeviceCall::Kind;
using Point = TimeGraph::Point;
using ordering::StreamNumber;

constexpr double kTolerance = 0.02;  // of a stretch: what calls of the host take is no better known
constexpr Point kOrigin = 0;

using LeftOut = std::function<bool(std::uint32_t)>;

// Where the ranks come together: by communicator and place in its order.
struct Meeting {
  Point begin, end;
};
using Meetings = std::map<std::pair<std::uint32_t, std::size_t>, Meeting>;

class RankReplay {
 public:
  RankReplay(const matching::Collectives& collectives, const LinkCost& link, const LeftOut& left_out,
             TimeGraph& graph, Meetings& meetings, const ordering::Streams& streams)
      : collectives_(collectives),
        link_(link),
        left_out_(left_out),
        graph_(graph),
        meetings_(meetings),
        streams_(streams) {}

  void run(const StretchOfCalls& calls, double begin_ns);

 private:
  // The last work of a stream, or before an event.
  struct Work {
    Point end = kOrigin;
    bool left_out = false;  // it would be, and nothing came behind it
  };

  void replay(const DeviceCall& call);
  void launch(const DeviceCall& call);
  void reduce(const DeviceCall& call);
  void await_event(const DeviceCall& call);
  void wait_for(std::span<const Point> points);
  bool waits_for_nothing(const DeviceCall& call) const;
  Point enqueue(StreamNumber stream);
  Point host() { return graph_.add_after(host_, {host_ns_}); }
  Meeting& meet(std::uint32_t collective);
  std::vector<Point> ends_for(const DeviceCall& wait) const;

  const matching::Collectives& collectives_;
  const LinkCost& link_;
  const LeftOut& left_out_;
  TimeGraph& graph_;
  Meetings& meetings_;
  const ordering::Streams& streams_;
  Point host_ = kOrigin;
  double host_ns_ = 0;  // behind that point
  std::map<StreamNumber, Work> work_;
  std::unordered_map<std::uint64_t, Work> events_;
};

// A point behind the host and what the stream is behind now.
Point RankReplay::enqueue(StreamNumber stream) {
  Point point = host();
  for (const auto& [other, work] : work_)
    if (other == stream || streams_.follows(stream, other)) graph_.put_after(point, work.end);
  return point;
}

// The first runs when it has been enqueued, the last not before the host has come to the run's end.
void RankReplay::launch(const DeviceCall& call) {
  Point begin = enqueue(call.stream);
  host_ns_ += call.host_ns;
  Point end = graph_.add_after(begin, {0, static_cast<double>(call.launches)});
  graph_.put_after(end, host_, {host_ns_, 1});
  work_[call.stream] = {end};
}

Meeting& RankReplay::meet(std::uint32_t collective) {
  const matching::CallForm& form = collectives_.calls.form(collective);
  std::pair place(form.communicator, collectives_.ordinal_of(collective));
  auto [known, fresh] = meetings_.try_emplace(place);
  if (fresh) {
    std::int32_t ranks = collectives_.communicators[form.communicator].size;
    double link_ns = ranks > 1 ? link_.of(form.signature, ranks) : 0;
    known->second.begin = graph_.add();
    known->second.end = graph_.add_after(known->second.begin, {0, 0, link_ns});
  }
  return known->second;
}

void RankReplay::reduce(const DeviceCall& call) {
  if (left_out_(call.collective)) {
    work_[call.stream].left_out = true;
    return;
  }
  host_ns_ += call.host_ns;
  Point arrival = enqueue(call.stream);
  Meeting& meeting = meet(call.collective);
  graph_.put_after(meeting.begin, arrival);
  work_[call.stream] = {meeting.end};
}

std::vector<Point> RankReplay::ends_for(const DeviceCall& wait) const {
  std::vector<Point> ends;
  if (wait.kind == Kind::kWaitForEvent) {
    if (auto known = events_.find(wait.event); known != events_.end()) ends.push_back(known->second.end);
    return ends;
  }
  for (const auto& [stream, work] : work_) {
    bool waited_for = wait.kind == Kind::kWaitForDevice
                          ? streams_.device_of(stream) == streams_.device_of(wait.stream)
                          : stream == wait.stream || streams_.follows(wait.stream, stream);
    if (waited_for) ends.push_back(work.end);
  }
  return ends;
}

void RankReplay::await_event(const DeviceCall& call) {
  auto known = events_.find(call.event);
  if (known == events_.end()) return;
  Point point = enqueue(call.stream);
  graph_.put_after(point, known->second.end);
  work_[call.stream].end = point;
}

bool RankReplay::waits_for_nothing(const DeviceCall& call) const {
  if (call.kind == Kind::kWaitForEvent) {
    auto known = events_.find(call.event);
    return known != events_.end() && known->second.left_out;
  }
  auto known = work_.find(call.stream);
  return call.kind == Kind::kWaitForStream && known != work_.end() && known->second.left_out;
}

void RankReplay::wait_for(std::span<const Point> points) {
  host_ = host();
  host_ns_ = 0;
  for (Point point : points) graph_.put_after(host_, point);
}

void RankReplay::replay(const DeviceCall& call) {
  host_ns_ += call.before_ns;
  switch (call.kind) {
    case Kind::kLaunches:
      return launch(call);
    case Kind::kCollective:
      return reduce(call);
    case Kind::kRecordEvent:
      host_ns_ += call.host_ns;
      events_[call.event] = {enqueue(call.stream), work_[call.stream].left_out};
      return;
    case Kind::kAwaitEvent:
      host_ns_ += call.host_ns;
      return await_event(call);
    case Kind::kCopy:
      host_ns_ += call.host_ns;
      work_[call.stream] = {enqueue(call.stream)};
      return;
    default:
      if (!waits_for_nothing(call)) wait_for(ends_for(call));
  }
}

void RankReplay::run(const StretchOfCalls& stretch, double begin_ns) {
  host_ns_ = begin_ns;
  for (const DeviceCall& call : stretch.calls) replay(call);
  host_ns_ += stretch.after_ns;
  host();
}

std::optional<TimeGraph> replay(const matching::Collectives& collectives, const LinkCost& link,
                                std::span<const ReplayedRank> ranks, std::int64_t begin_ns,
                                const LeftOut& left_out) {
  TimeGraph graph;
  graph.add();
  Meetings meetings;
  for (const ReplayedRank& rank : ranks)
    RankReplay(collectives, link, left_out, graph, meetings, *rank.streams)
        .run(*rank.calls, static_cast<double>(rank.calls->stretch.begin_ns - begin_ns));
  if (!graph.sort()) return std::nullopt;
  return graph;
}

}  // namespace

std::optional<double> saved_ns(const matching::Collectives& collectives, const LinkCost& link,
                               std::span<const ReplayedRank> ranks, const LeftOut& left_out) {
  std::int64_t begin_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
  for (const ReplayedRank& rank : ranks) {
    begin_ns = std::min(begin_ns, rank.calls->stretch.begin_ns);
    end_ns = std::max(end_ns, rank.calls->stretch.end_ns);
  }
  auto with = replay(collectives, link, ranks, begin_ns, [](std::uint32_t) { return false; });
  auto without = replay(collectives, link, ranks, begin_ns, left_out);
  if (!with || !without) return std::nullopt;
  Rates rates = fit_rates(*with, static_cast<double>(end_ns - begin_ns), kTolerance);
  return with->length_ns(rates) - without->length_ns(rates);
}

}  // namespace ddpscope::patterns
