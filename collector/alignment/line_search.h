// All straight lines that keep below some points and above others, and the middle of them.
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "collector/alignment/offset_bounds.h"

namespace ddpscope::alignment {

class LineSearch {
 public:
  // `upper`, `lower`: by time, none of them empty.
  LineSearch(const std::vector<OffsetNode>& upper, const std::vector<OffsetNode>& lower,
             const ClockPair& clocks);

  Offset run();

 private:
  // What the offset can be at a node, ns since base_.
  struct Range {
    double low, high;
  };
  // As many windows in a row, each of one rate.
  struct Windows {
    std::vector<double> nodes;  // ns since first_ns of the pair; one more than there are windows
    std::vector<Range> ranges;  // of the offset at each node
    double slack;               // by how much the offset may leave the straight line within a window

    double error() const;
  };

  std::optional<Windows> search(std::size_t count, double leave) const;  // `leave`: ns a ns of a window
  std::vector<double> nodes_of(std::size_t count) const;
  // What the two ends of a line over one window can be; false: there is no such line.
  bool ends_of(double begin, double end, double slack, Range& at_begin, Range& at_end) const;
  bool may_be_one_rate(const Windows& windows) const;
  double rates_apart(const Windows& windows) const;
  OffsetLine line_of(const Windows& windows, bool steady) const;

  const std::vector<OffsetNode>& upper_;
  const std::vector<OffsetNode>& lower_;
  const ClockPair& clocks_;
  std::int64_t base_;    // an offset near all that can be: what is left fits into a double
  double first_, last_;  // what both clocks did, ns since first_ns of the pair
};

}  // namespace ddpscope::alignment
