// Descends the pyramid of a communicator.
#include "viewer/timeline/collective_walk.h"

#include <algorithm>

namespace ddpscope::viewer {
namespace {

constexpr std::uint64_t kMostWhole = 600;  // in one view; beyond that they would be slivers

class Walk {
 public:
  Walk(const merged::Reader& reader, std::uint32_t communicator, const TimeView& view, WalkBudget& budget)
      : reader_(reader), communicator_(communicator), view_(view), budget_(budget) {}

  CollectivesInView run() {
    const merged::CommunicatorRow& row = reader_.communicators()[communicator_];
    if (row.levels > 0)
      children(row.levels - 1u, 0, reader_.collective_nodes(communicator_, row.levels - 1u));
    load_whole();
    return std::move(found_);
  }

 private:
  // Where its shape ends. Of those that the device did not time only the host's wait is known, which is often
  // the same for all of a step: each is drawn until the next one comes.
  std::int64_t end_of(const merged::CollectiveNode& node, std::int64_t next_ns) const {
    std::int64_t run_end = reader_.job().duration_ns;
    std::int64_t end = node.last_end_ns == merged::kNever ? run_end : node.last_end_ns;
    const std::int64_t until_ns = is_message(node) ? end : next_ns;
    if (!(node.flags & merged::kTimed)) end = holds_up(node.flags) ? run_end : std::min(end, until_ns);
    return std::max(end, node.last_arrival_ns);
  }

  // Which run beside each other, and wait for none of their row.
  static bool is_message(const merged::CollectiveNode& node) {
    auto operation = static_cast<trace::Operation>(node.operation);
    return operation == trace::Operation::kSend || operation == trace::Operation::kReceive;
  }

  bool children(unsigned level, std::uint64_t first, std::uint64_t end) {
    if (budget_.limited() && !reader_.collective_nodes_ready(communicator_, level, first, end)) {
      reader_.want_collective_nodes(communicator_, level, first, end);
      budget_.leave_out();
      return false;
    }
    auto nodes = reader_.collective_level(communicator_, level);
    for (std::uint64_t i = first; i < std::min<std::uint64_t>(end, nodes.size()); ++i)
      visit(level, i, nodes[i], i + 1 < nodes.size() ? nodes[i + 1].first_arrival_ns : INT64_MAX);
    return true;
  }

  void visit(unsigned level, std::uint64_t i, const merged::CollectiveNode& node, std::int64_t next_ns) {
    std::int64_t end_ns = end_of(node, next_ns);
    if (node.first_arrival_ns > view_.shown.to_ns || end_ns < view_.shown.from_ns) return;
    float left = view_.x_of(node.first_arrival_ns), right = view_.x_of(end_ns);
    bool marked = node.max_severity > 0 || (node.flags & merged::kNeverCompleted);
    // One that stands for many is looked into while its members could be told apart.
    float of_each = (right - left) / static_cast<float>(std::max<std::uint32_t>(node.count, 1));
    bool fine = level == 0 ? right - left < kLeastShapePx && !marked
                           : of_each < kLeastShapePx / 2 && right - left < 64;
    if (!fine && budget_.spent()) {
      budget_.leave_out();
      fine = true;
    }
    if (!fine && level == 0) return add_whole(i);
    if (!fine && children(level - 1, i * merged::kFanOut, (i + 1) * merged::kFanOut)) return;
    std::uint64_t sequences = 1;
    for (unsigned k = 0; k < level; ++k) sequences *= merged::kFanOut;
    add_run({left, right, static_cast<Kind>(node.kind), node.max_severity, node.flags, node.count,
             i * sequences});
  }

  void add_run(const CollectiveRun& run) {
    if (!found_.runs.empty()) {
      CollectiveRun& last = found_.runs.back();
      if (run.left - last.right < 1 && run.right - last.left < 48 && last.kind == run.kind) {
        last.right = std::max(last.right, run.right);
        last.count += run.count, last.flags |= run.flags;
        last.severity = std::max(last.severity, run.severity);
        return;
      }
    }
    found_.runs.push_back(run);
  }

  void add_whole(std::uint64_t sequence) {
    if (wanted_ >= kMostWhole) return budget_.leave_out();
    ++wanted_;
    if (!ranges_.empty() && ranges_.back().second == sequence)
      ++ranges_.back().second;
    else
      ranges_.emplace_back(sequence, sequence + 1);
  }

  // With their neighbours: what is drawn of one depends on them, not on what is in view. Not what waits
  // behind one that is never over: of that its number is seen in that one.
  void load_whole() {
    std::uint64_t all = reader_.communicators()[communicator_].collectives;
    for (std::size_t i = 0; i < ranges_.size();) {
      std::size_t last = i;
      while (last + 1 < ranges_.size() && ranges_[last + 1].first <= ranges_[last].second + 2) ++last;
      std::uint64_t first = ranges_[i].first, end = ranges_[last].second;
      load(first - std::min<std::uint64_t>(first, 1), std::min(end + 1, all), {i, last + 1});
      i = last + 1;
      if (held_up_) return;
    }
  }

  // Collectives first ... end - 1; of them those of ranges_[some.first] ... [some.second - 1] are in view.
  void load(std::uint64_t first, std::uint64_t end, std::pair<std::size_t, std::size_t> some) {
    if (budget_.limited() && !reader_.collectives_ready(communicator_, first, end)) {
      reader_.want_collectives(communicator_, first, end);
      return budget_.leave_out();
    }
    auto loaded = reader_.collectives(communicator_, first, end);
    if (!loaded) return;
    std::vector<CollectiveShape> shapes = shapes_in_order(reader_, *loaded, !budget_.limited());
    std::size_t range = some.first;
    for (std::size_t k = 0; k < loaded->size(); ++k) {
      std::uint64_t sequence = (*loaded)[k].sequence;
      if (!held_up_) shapes[k].behind = behind((*loaded)[k], shapes[k]);
      held_up_ |= shapes[k].behind > 0 && holds_up((*loaded)[k].flags);
      while (range < some.second && sequence >= ranges_[range].second) ++range;
      if (range >= some.second || sequence < ranges_[range].first) continue;
      found_.whole.push_back({std::move((*loaded)[k]), std::move(shapes[k])});
    }
  }

  // How many wait for it: all later ones, if they were issued before it was over.
  std::uint64_t behind(const merged::Collective& collective, const CollectiveShape& shape) {
    std::uint64_t all = reader_.communicators()[communicator_].collectives;
    if (!is_troubled(collective.flags) || collective.is_message() || collective.sequence + 1 >= all) return 0;
    if (budget_.limited() && !reader_.collective_nodes_ready(communicator_, 0, all - 1, all)) {
      reader_.want_collective_nodes(communicator_, 0, all - 1, all);
      budget_.leave_out();
      return 0;
    }
    auto nodes = reader_.collective_level(communicator_, 0);
    bool issued = !nodes.empty() && nodes.back().last_arrival_ns <= shape.end_ns;
    return issued ? all - 1 - collective.sequence : 0;
  }

  const merged::Reader& reader_;
  std::uint32_t communicator_;
  const TimeView& view_;
  WalkBudget& budget_;
  CollectivesInView found_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges_;  // of sequence numbers
  std::uint64_t wanted_ = 0;
  bool held_up_ = false;  // what comes next waits for one that is never over
};

}  // namespace

CollectivesInView walk_collectives(const merged::Reader& reader, std::uint32_t communicator,
                                   const TimeView& view, WalkBudget& budget) {
  return Walk(reader, communicator, view, budget).run();
}

}  // namespace ddpscope::viewer
