// How far one host's clock is ahead of another's, from what is known to come before what: a line in time, or
// several in a row, with a bound that no offset that obeys exceeds. docs/clocks.md derives it.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace ddpscope::alignment {

// Readings of the two clocks, ns. The offset at a moment is the second clock's reading less the first one's.
struct ClockPair {
  std::int64_t first_ns, last_ns;                // of the first clock: all that it did
  std::int64_t second_first_ns, second_last_ns;  // likewise of the second one
  double wander = 0;  // by how much the rate of one against the other changes while they run
};

struct OffsetNode {
  std::int64_t at_ns;  // the first clock's reading
  std::int64_t offset_ns;
};

// The offset is the straight line between two nodes, and before the first and behind the last goes on as it
// does beside them.
struct OffsetLine {
  std::vector<OffsetNode> nodes;  // two or more, by time
  std::int64_t error_ns;          // the true offset is no further from the line, as long as both clocks ran
  bool steady;  // one rate explains all; else the bound holds what the rates were seen to change
};

enum class NoLine : std::uint8_t {
  kUnbounded,      // one of the clocks is never known to have come after the other
  kContradiction,  // no two clocks that run obey all that is known: one was set, or stood still
};

struct Offset {
  std::optional<OffsetLine> line;
  NoLine why = NoLine::kUnbounded;  // there is none
};

class OffsetBounds {
 public:
  explicit OffsetBounds(std::int64_t first_ns, std::int64_t last_ns)
      : first_ns_(first_ns), last_ns_(last_ns) {}

  // What the first host did at `at_ns` comes before what the second one did at `other_ns`, each by its own
  // clock.
  void first_before_second(std::int64_t at_ns, std::int64_t other_ns) {
    add(upper_, {at_ns, other_ns - at_ns}, 1);
  }
  void second_before_first(std::int64_t other_ns, std::int64_t at_ns) {
    add(lower_, {at_ns, other_ns - at_ns}, -1);
  }

  Offset solve(const ClockPair& clocks);

 private:
  // What is kept of the points is what a line can touch within one of as many equal parts of the time.
  static constexpr std::int64_t kCells = 64;
  friend class LineSearch;

  void add(std::vector<OffsetNode>& points, OffsetNode point, int side);
  void thin_out(std::vector<OffsetNode>& points, int side) const;
  std::int64_t cell_of(std::int64_t at_ns) const;

  std::int64_t first_ns_, last_ns_;
  std::vector<OffsetNode> upper_, lower_;  // the offset is at most, at least this
};

}  // namespace ddpscope::alignment
