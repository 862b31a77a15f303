// A communicator's lane: one collective is one shape across all its ranks. Left edge: who came when; right
// edge: who left when. A rank that does something else leaves a dashed hole; what never completes has no
// right edge.
#include <fmt/format.h>

#include <algorithm>

#include "viewer/lanes/lane_frame.h"
#include "viewer/timeline/collective_walk.h"

namespace ddpscope::viewer {
namespace {

constexpr float kTopPad = 6;

class Lane {
 public:
  Lane(LaneFrame& frame, const Row& row, const Box& box)
      : frame_(frame), row_(row), box_(box), communicator_(frame.reader.communicators()[row.index]) {
    members_ = std::max<std::size_t>(std::min(communicator_.members.size(), kMostShapeMembers), 1);
    by_member_ = row.open && communicator_.members.size() <= kMostShapeMembers;
    line_ = by_member_ ? frame.px(row.line)
                       : (box.height() - frame.px(2 * kTopPad)) / static_cast<float>(members_);
  }

  void draw() {
    const Palette& p = frame_.colours();
    frame_.canvas.fill(box_, p.lane_odd);
    draw_names();
    frame_.canvas.line({frame_.gutter_left, box_.bottom - 1}, {frame_.plot.right, box_.bottom - 1},
                       p.strong_line);
    frame_.canvas.push_clip({frame_.plot.left, std::max(box_.top, frame_.plot.top), frame_.plot.right,
                             std::min(box_.bottom, frame_.plot.bottom)});
    CollectivesInView found = walk_collectives(frame_.reader, row_.index, frame_.view, frame_.budget);
    std::uint64_t waiting = UINT64_MAX;  // from then on for one that is never over: a number in that one
    for (const WholeCollective& own : found.whole)
      if (own.shape.behind > 0 && holds_up(own.collective.flags))
        waiting = std::min(waiting, own.collective.sequence + 1);
    for (const CollectiveRun& run : found.runs)
      if (run.first_sequence < waiting) draw_run(run);
    for (std::size_t i = 0; i < found.whole.size(); ++i) {
      const WholeCollective& own = found.whole[i];
      next_ns_ =
          i + 1 < found.whole.size() ? found.whole[i + 1].shape.first_ns : frame_.reader.job().duration_ns;
      // What waits for one that is never over has nothing to be drawn but its number in that one.
      if (own.collective.sequence < waiting) draw_whole(own.collective, own.shape);
    }
    frame_.canvas.pop_clip();
  }

 private:
  Box line_box(std::size_t member, float left, float right) const {
    float top = box_.top + frame_.px(kTopPad) + line_ * static_cast<float>(member);
    return {left, top, right, top + line_};
  }

  void draw_names() {
    const Palette& p = frame_.colours();
    std::string id = fmt::format("{:06x} · {} {}", communicator_.id & 0xFFFFFF, communicator_.size,
                                 plural(static_cast<std::uint64_t>(communicator_.size), "rank"));
    const char* meaning = holds_messages() ? "an arrow is a message" : "a shape is a collective";
    std::string hint = row_.open && box_.height() > frame_.px(72) ? meaning : "";
    draw_gutter(frame_, box_,
                {{Face::kStrong, p.text, communicator_.name},
                 {Face::kMonoSmall, p.text_low, id},
                 {Face::kSmall, p.text_low, hint}});
    if (!by_member_ || communicator_.size == 1) return;  // that rank is in its name
    for (std::size_t i = 0; i < communicator_.members.size(); ++i) {
      Box own = line_box(i, frame_.gutter_left, frame_.plot.left - frame_.px(10));
      frame_.canvas.text_in_right(
          Face::kMonoSmall, {own.right - frame_.px(30), own.top, own.right, own.bottom},
          at_fault(i) ? p.error : p.text_low, fmt::format("{}", communicator_.members[i].rank));
    }
  }

  bool holds_messages() const {
    auto nodes = frame_.reader.collective_level(row_.index, 0);
    if (nodes.empty()) return false;
    auto operation = static_cast<trace::Operation>(nodes.front().operation);
    return operation == trace::Operation::kSend || operation == trace::Operation::kReceive;
  }

  // By the chosen finding, if it is about this communicator and some of the members are not.
  bool at_fault(std::size_t member) const {
    const Story& story = frame_.story;
    return story.finding != merged::kNone && story.communicator == row_.index &&
           story.fault_rows.size() < communicator_.members.size() &&
           story.at_fault(communicator_.members[member].rank_row);
  }
  bool blames_some() const {
    for (std::size_t i = 0; i < communicator_.members.size(); ++i)
      if (at_fault(i)) return true;
    return false;
  }

  Colour colour_of_kind(Kind kind) const {
    return kind == Kind::kBarrier ? frame_.colours().barrier : frame_.colours().collective;
  }

  bool in_vain(std::uint64_t sequence) const {
    if (frame_.story.communicator != row_.index) return false;
    return std::any_of(frame_.story.syncs.begin(), frame_.story.syncs.end(), [&](const SyncSet& set) {
      return !set.needed && set.first <= sequence && sequence < set.end;
    });
  }

  void draw_run(const CollectiveRun& run) {
    float left = std::max(run.left, frame_.plot.left),
          right = std::min(std::max(run.right, run.left + 1), frame_.plot.right);
    Colour colour = colour_of_kind(run.kind);
    // Of a trace that just ends nobody is to blame.
    if (run.flags & merged::kNeverCompleted && run.severity > 0) colour = frame_.colours().error;
    Box own{left, box_.top + frame_.px(kTopPad), right, box_.bottom - frame_.px(kTopPad)};
    frame_.canvas.fill(own, with_alpha(colour, 0.5f));
  }

  void draw_whole(const merged::Collective& collective, const CollectiveShape& shape) {
    Colour colour = in_vain(collective.sequence) ? frame_.colours().warning : colour_of_kind(shape.kind);
    std::size_t shown = std::min(shape.members.size(), by_member_ ? shape.members.size() : std::size_t{0});
    if (!by_member_) return draw_flat(collective, shape, colour);
    for (std::size_t first = 0; first < shown;) {
      std::size_t last = first;
      while (last < shown && shape.members[last].takes_part) ++last;
      if (last > first) draw_piece(shape, first, last, colour);
      first = std::max(last, first + 1);
    }
    draw_others(collective, shape);
    if (shape.message) draw_way(collective, shape, colour);
    draw_title(collective, shape);
  }

  void draw_flat(const merged::Collective& collective, const CollectiveShape& shape, Colour colour) {
    float left = frame_.x_of(shape.first_ns), all = frame_.x_of(shape.last_arrival_ns);
    float right = std::max(frame_.x_of(shape.end_ns), left + 2);
    Box own{left, box_.top + frame_.px(kTopPad), right, box_.bottom - frame_.px(kTopPad)};
    frame_.canvas.fill(own, with_alpha(colour, 0.28f));
    frame_.canvas.fill({std::max(all, left), own.top, right, own.bottom}, with_alpha(colour, 0.35f));
    frame_.canvas.fill({left, own.top, left + frame_.px(2), own.bottom}, colour);
    // Ranks that are ahead are in the next one already: there is its text.
    float text_left = std::max(left, frame_.plot.left);
    float text_right = std::min({right, frame_.plot.right, frame_.x_of(next_ns_)});
    if (text_right - text_left > frame_.px(40))
      frame_.canvas.text_in(Face::kSmall, {text_left + frame_.px(6), own.top, text_right - 2, own.bottom},
                            frame_.colours().text, collective_text(collective, shape) + others_text(shape));
  }

  // Where members have no lines of their own. " · not here: ranks 3, 5 · something else: rank 7"
  std::string others_text(const CollectiveShape& shape) const {
    std::vector<std::int32_t> absent, elsewhere;
    for (std::size_t i = 0; i < shape.members.size(); ++i) {
      if (shape.members[i].absent && !shape.members[i].outside)
        absent.push_back(communicator_.members[i].rank);
      bool odd = shape.members[i].elsewhere && (!shape.contested || at_fault(i));
      if (odd) elsewhere.push_back(communicator_.members[i].rank);
    }
    std::string text;
    for (auto [what, ranks] : {std::pair("not here", &absent), std::pair("something else", &elsewhere)}) {
      std::sort(ranks->begin(), ranks->end());
      if (!ranks->empty()) text += fmt::format(" · {}: {}", what, ranks_text(*ranks));
    }
    return text;
  }

  // Members first ... last - 1, all of whom take part.
  void draw_piece(const CollectiveShape& shape, std::size_t first, std::size_t last, Colour colour) {
    std::vector<Point> left_edge, right_edge;
    float far_left = frame_.plot.left - 50, far_right = frame_.plot.right + 50;
    for (std::size_t i = first; i < last; ++i) {
      const MemberShape& member = shape.members[i];
      Box own = line_box(i, std::clamp(frame_.x_of(member.came_ns), far_left, far_right),
                         std::clamp(frame_.x_of(member.to_ns), far_left, far_right));
      own.right = std::max(own.right, own.left + 1);
      fill_part(own, member, colour, 0.34f);
      frame_.canvas.fill({own.left, own.top, own.left + frame_.px(3), own.bottom}, colour);
      left_edge.insert(left_edge.end(), {{own.left, own.top}, {own.left, own.bottom}});
      right_edge.insert(right_edge.end(), {{own.right, own.top}, {own.right, own.bottom}});
      if (member.never) draw_chevrons(own, colour);
    }
    // Once round; where one never leaves the right edge stays open.
    bool open = std::any_of(shape.members.begin() + static_cast<std::ptrdiff_t>(first),
                            shape.members.begin() + static_cast<std::ptrdiff_t>(last),
                            [](const MemberShape& member) { return member.never; });
    std::vector<Point> outline(right_edge.rbegin(), right_edge.rend());
    if (open) {
      frame_.canvas.line({left_edge.front().x, left_edge.front().y},
                         {right_edge.front().x, left_edge.front().y}, colour, frame_.px(1.2f));
      frame_.canvas.line({left_edge.back().x, left_edge.back().y}, {right_edge.back().x, left_edge.back().y},
                         colour, frame_.px(1.2f));
      return frame_.canvas.polyline(left_edge, colour, frame_.px(1.2f));
    }
    std::vector<Point> round = left_edge;
    round.insert(round.end(), outline.begin(), outline.end());
    round.push_back(left_edge.front());
    frame_.canvas.polyline(round, colour, frame_.px(1.2f));
  }

  // From the line of who sends to that of who receives, when both are there.
  void draw_way(const merged::Collective& collective, const CollectiveShape& shape, Colour colour) {
    std::vector<std::size_t> ends;
    for (std::size_t i = 0; i < shape.members.size(); ++i)
      if (!shape.members[i].absent) ends.push_back(i);
    if (ends.size() != 2 || collective.signatures.front().operation != trace::Operation::kSend) return;
    // The other end of what the first of the signatures, the send's, says.
    bool first_receives =
        communicator_.members[ends.front()].rank_in_communicator == collective.signatures.front().root;
    std::size_t from = ends[first_receives ? 1 : 0], to = ends[first_receives ? 0 : 1];
    float x = frame_.x_of(shape.last_arrival_ns) + frame_.px(1.5f);
    if (x < frame_.plot.left || x > frame_.plot.right) return;
    Point begin{x, line_box(from, x, x).middle_y()}, end{x, line_box(to, x, x).middle_y()};
    frame_.canvas.line(begin, end, colour, frame_.px(1.6f));
    float head = to > from ? -frame_.px(4) : frame_.px(4);
    frame_.canvas.polyline({{x - frame_.px(3), end.y + head}, end, {x + frame_.px(3), end.y + head}}, colour,
                           frame_.px(1.6f));
  }

  // Paler where its host has issued it and its stream is still busy with something else.
  void fill_part(const Box& own, const MemberShape& member, Colour colour, float alpha) {
    float begin = std::clamp(frame_.x_of(member.from_ns), own.left, own.right);
    if (begin > own.left)
      frame_.canvas.fill({own.left, own.top, begin, own.bottom}, with_alpha(colour, 0.4f * alpha));
    frame_.canvas.fill({begin, own.top, own.right, own.bottom}, with_alpha(colour, alpha));
  }

  void draw_chevrons(const Box& own, Colour colour) {
    float x = std::min(own.right, frame_.plot.right) - frame_.px(10), y = own.middle_y(),
          half = frame_.px(3.5f);
    if (x < own.left + frame_.px(6)) return;
    for (int i = 0; i < 2; ++i, x -= frame_.px(6))
      frame_.canvas.polyline({{x - half, y - half}, {x, y}, {x - half, y + half}}, colour, frame_.px(1.5f));
  }

  // Those who did something else, or nothing: a hole where their part should be.
  void draw_others(const merged::Collective& collective, const CollectiveShape& shape) {
    for (std::size_t i = 0; i < shape.members.size(); ++i) {
      const MemberShape& member = shape.members[i];
      if (member.takes_part || member.outside) continue;
      if (member.absent || !shape.contested)
        draw_hole(shape, i, {member.missing_ns, member.absent ? member.to_ns : member.came_ns},
                  member.absent && !is_blamed(collective, i) ? kNobody : collective.max_severity);
      if (member.elsewhere) draw_elsewhere(collective, shape, i);
    }
  }

  // As loud as what was found about it. Where a trace just ends some have come and others have not: nobody is
  // to blame.
  struct Blame {
    Colour line, ground;
  };
  static constexpr std::uint8_t kNobody = 0;
  Blame blame_of(std::uint8_t max_severity) const {
    const Palette& p = frame_.colours();
    if (max_severity == kNobody) return {p.text_low, p.wait_ground};
    auto severity = static_cast<Severity>(max_severity - 1);
    return {colour_of(p, severity), ground_of(p, severity)};
  }

  // By what made the collective's colour. What was found may be about others: of whom it does not name only
  // nothing was seen there, as of one whose file is cut.
  bool is_blamed(const merged::Collective& collective, std::size_t member) const {
    if (collective.max_severity == kNobody) return false;
    std::int32_t rank = communicator_.members[member].rank;
    const auto& all = frame_.reader.outcome().findings;
    return std::any_of(all.begin(), all.end(), [&](const findings::Finding& finding) {
      return static_cast<int>(finding.severity) + 1 == collective.max_severity &&
             std::find(finding.ranks.begin(), finding.ranks.end(), rank) != finding.ranks.end();
    });
  }

  void draw_hole(const CollectiveShape& shape, std::size_t i, TimeSpan span, std::uint8_t severity) {
    Blame blame = blame_of(severity);
    Box hole = line_box(i, std::max(frame_.x_of(span.from_ns), frame_.plot.left - 9),
                        std::min(frame_.x_of(span.to_ns), frame_.plot.right + 9));
    hole.top += frame_.px(1), hole.bottom -= frame_.px(1);
    if (hole.right - hole.left <= frame_.px(6)) return;
    frame_.canvas.fill(hole, with_alpha(blame.ground, 0.9f));
    frame_.canvas.dashed_frame(hole, blame.line, frame_.px(1.4f));
    float left = std::max(hole.left, frame_.plot.left) + frame_.px(8);
    float right = std::min(hole.right, frame_.plot.right) - frame_.px(4);
    const char* what = severity == kNobody            ? "not seen here"
                       : shape.kind == Kind::kBarrier ? "no barrier here"
                                                      : "not here";
    std::string words = fmt::format("rank {}: {}", communicator_.members[i].rank, what);
    if (frame_.canvas.text_width(Face::kSmall, words) <= right - left)
      frame_.canvas.text_centred(Face::kSmall, {left, hole.top, right, hole.bottom}, blame.line, words);
  }

  void draw_elsewhere(const merged::Collective& collective, const CollectiveShape& shape, std::size_t i) {
    const Palette& p = frame_.colours();
    const MemberShape& member = shape.members[i];
    Box own = line_box(i, std::max(frame_.x_of(member.came_ns), frame_.plot.left - 50),
                       std::min(frame_.x_of(member.to_ns), frame_.plot.right + 50));
    own.top += frame_.px(1), own.bottom -= frame_.px(1);
    own.right = std::max(own.right, own.left + frame_.px(4));
    frame_.canvas.fill(own, p.lane_even);
    fill_part(own, member, colour_of_kind(member.kind), 0.5f);
    // Where as many do one thing as another, the finding may know better.
    bool wrong = !shape.contested || !blames_some() || at_fault(i);
    frame_.canvas.frame(own, wrong ? blame_of(collective.max_severity).line : colour_of_kind(member.kind), 0,
                        frame_.px(1.5f));
    float left = std::max(own.left, frame_.plot.left), right = std::min(own.right, frame_.plot.right);
    frame_.canvas.text_in(Face::kSmall, {left + frame_.px(6), own.top, right - frame_.px(24), own.bottom},
                          p.bar_text, member_text(collective, shape, i));
    if (member.never) draw_chevrons(own, blame_of(collective.max_severity).line);
  }

  // The lines first ... last - 1 that are all inside from `left` to `right`.
  struct Room {
    float left = 0, right = 0;
    std::size_t first = 0, last = 0;
  };

  // Where a text of that width crosses no edge: on as many lines as possible, else on the one with most room.
  Room room_for(const CollectiveShape& shape, float needed) const {
    Room best, widest;
    for (std::size_t first = 0; first < shape.members.size(); ++first) {
      float left = frame_.plot.left, right = frame_.plot.right;
      for (std::size_t last = first; last < shape.members.size() && shape.members[last].takes_part; ++last) {
        left = std::max(left, frame_.x_of(shape.members[last].came_ns));
        right = std::min(right, frame_.x_of(shape.members[last].to_ns));
        if (right - left >= needed && last + 1 - first > best.last - best.first)
          best = {left, right, first, last + 1};
        if (right - left > widest.right - widest.left) widest = {left, right, first, last + 1};
      }
    }
    return best.last > best.first ? best : widest;
  }

  std::string what_becomes_of(const merged::Collective& collective, const CollectiveShape& shape) const {
    std::string text = shape.never ? "never completes" : "";
    if (shape.behind == 0) return text;
    std::uint64_t first = collective.sequence + 1, last = collective.sequence + shape.behind;
    text += text.empty() ? "" : " · ";
    if (first == last) return text + fmt::format("#{} waits behind it", first);
    return text + fmt::format("#{}{}#{} wait behind it", first, last == first + 1 ? " and " : "–", last);
  }

  void draw_title(const merged::Collective& collective, const CollectiveShape& shape) {
    const Palette& p = frame_.colours();
    std::string title = collective_text(collective, shape), more_words = what_becomes_of(collective, shape);
    float pad = frame_.px(10), more = frame_.px(shape.never ? 30 : 6);
    Room room = room_for(shape, frame_.canvas.text_width(Face::kStrong, title) + pad + more);
    Box lines{room.left + pad, line_box(room.first, 0, 0).top, room.right - more,
              line_box(std::max(room.last, room.first + 1) - 1, 0, 0).bottom};
    if (lines.width() < frame_.px(24)) return;
    float width = frame_.canvas.text_width(Face::kStrong, title);
    bool strong = lines.width() >= width;
    float height = frame_.canvas.line_height(Face::kStrong);
    bool two = !more_words.empty() && lines.height() > 2.1f * height;
    float y = lines.middle_y() - (two ? height : height / 2);
    frame_.canvas.text_in(strong ? Face::kStrong : Face::kSmall, {lines.left, y, lines.right, y + height},
                          p.text, title);
    if (more_words.empty()) return;
    Box rest{lines.left, y + height, lines.right, y + 2 * height};
    if (!two) rest = {lines.left + width + frame_.px(12), y, lines.right, y + height};
    if (rest.width() > frame_.px(60)) frame_.canvas.text_in(Face::kSmall, rest, p.text_mid, more_words);
  }

  LaneFrame& frame_;
  const Row& row_;
  Box box_;
  const merged::CommunicatorRow& communicator_;
  std::size_t members_;
  bool by_member_;
  float line_;
  std::int64_t next_ns_ = 0;  // where the shape after the drawn one begins
};

}  // namespace

void draw_communicator_row(LaneFrame& frame, const Row& row, const Box& box) { Lane(frame, row, box).draw(); }

}  // namespace ddpscope::viewer
