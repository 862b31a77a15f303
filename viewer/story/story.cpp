// What the lanes show of the chosen finding.
#include "viewer/story/story.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "viewer/story/batch_colours.h"
#include "viewer/story/cards.h"
#include "viewer/story/concerned_collective.h"
#include "viewer/story/file_lines.h"
#include "viewer/story/passes.h"
#include "viewer/story/samples.h"
#include "viewer/timeline/collective_walk.h"

namespace ddpscope::viewer {
namespace {

using findings::Evidence;
using findings::Finding;
using merged::Reader;

class Teller {
 public:
  Teller(const Reader& reader, std::uint32_t finding)
      : reader_(reader), finding_(reader.outcome().findings[finding]) {
    story_.finding = finding;
  }

  Story sketch() {
    begin();
    return end();
  }

  Story tell() {
    begin();
    const std::string& slug = finding_.slug;
    if (slug == "redundant-accumulation-sync")
      tell_syncs();
    else if (slug == "unsharded-sampler")
      tell_batches();
    else if (slug == "repeated-epoch-order")
      tell_passes();
    else if (auto absence = absence_of(finding_))
      tell_absence(std::move(*absence));
    else if (has_file() && !finding_.order.empty())
      tell_file();
    else if (has_file() && slug.find("write") != std::string::npos)
      tell_file();
    else if (slug == "skipped-barrier" || slug == "mismatched-collective" || slug == "hung-collective" ||
             slug == "uneven-steps")
      tell_collective();
    else if (slug == "exposed-communication" || slug == "straggler")
      frame_transfers();
    if (slug == "exposed-communication") put_discs_on_devices();
    if (slug == "ineffective-barrier") note_barrier();
    if (slug == "divergent-existence-check") find_collective();
    if (!finding_.order.empty() && story_.lane != StoryLane::kAbsence) link_unordered();
    tell_device_times();
    return end();
  }

 private:
  void begin() {
    place_discs();
    name_ranks();
    story_.focus = evidence_span();
  }

  Story end() {
    if (story_.focus.length() <= 0)
      story_.focus = {finding_.first_ns, std::max(finding_.last_ns, finding_.first_ns)};
    return std::move(story_);
  }

  bool has_file() const {
    return std::any_of(finding_.evidence.begin(), finding_.evidence.end(),
                       [](const Evidence& evidence) { return !evidence.file.empty(); });
  }

  void place_discs() {
    for (std::size_t i = 0; i < finding_.evidence.size(); ++i) {
      const Evidence& evidence = finding_.evidence[i];
      StoryDisc disc;
      disc.number = i + 1;
      disc.rank_row = reader_.row_of_rank(evidence.rank);
      disc.t_ns = disc.shown_ns = evidence.t_ns;
      disc.place = reader_.place_of(story_.finding, static_cast<std::uint32_t>(i));
      story_.discs.push_back(disc);
    }
  }

  void name_ranks() {
    std::set<std::uint32_t> concerned, at_fault;
    for (std::int32_t rank : finding_.ranks)
      if (std::uint32_t row = reader_.row_of_rank(rank); row != merged::kNone) at_fault.insert(row);
    concerned = at_fault;
    for (const StoryDisc& disc : story_.discs)
      if (disc.rank_row != merged::kNone) concerned.insert(disc.rank_row);
    story_.fault_rows.assign(at_fault.begin(), at_fault.end());
    story_.rank_rows.assign(concerned.begin(), concerned.end());
  }

  TimeSpan evidence_span() const {
    if (story_.discs.empty()) return {finding_.first_ns, finding_.last_ns};
    TimeSpan span{INT64_MAX, INT64_MIN};
    for (const StoryDisc& disc : story_.discs) {
      span.from_ns = std::min(span.from_ns, disc.t_ns);
      span.to_ns = std::max(span.to_ns, disc.t_ns);
    }
    return span;
  }

  // ---- a file that several ranks touch
  void tell_file() {
    story_.lane = StoryLane::kFile;
    tell_file_lines(reader_, finding_, story_);
  }

  // What the others conflict with: the removal or renaming, else the first write.
  std::size_t change() const {
    for (const char* verb : {"delete", "rename", "make", "write", "change", "gives"})
      for (std::size_t i = 0; i < finding_.evidence.size(); ++i)
        if (finding_.evidence[i].detail.starts_with(verb)) return i;
    return 0;
  }

  // Between the change and each access of another rank that nothing orders, from the earlier to the later.
  void link_unordered() {
    bool by_luck = finding_.severity != Severity::kError;
    std::size_t changed = change();
    if (changed >= story_.discs.size()) return;
    const StoryDisc& one = story_.discs[changed];
    auto is_of_another_rank = [&](std::size_t i) {
      const StoryDisc& other = story_.discs[i];
      return other.rank_row != one.rank_row && other.rank_row != merged::kNone &&
             !finding_.evidence[i].file.empty();
    };
    // Copies of one content have names of their own; else what has another name came of the two.
    auto is_same_file = [&](std::size_t i) {
      return finding_.evidence[i].file == finding_.evidence[changed].file;
    };
    bool of_one_file = false;
    for (std::size_t i = 0; i < story_.discs.size(); ++i)
      of_one_file |= is_of_another_rank(i) && is_same_file(i);
    for (std::size_t i = 0; i < story_.discs.size() && story_.arrows.size() < 3; ++i) {
      if (!is_of_another_rank(i) || (of_one_file && !is_same_file(i))) continue;
      bool first = one.t_ns <= story_.discs[i].t_ns;
      StoryArrow arrow{
          first ? changed : i, first ? i : changed, by_luck ? ArrowKind::kByLuck : ArrowKind::kUnordered, {}};
      if (story_.arrows.empty())
        arrow.lines = unordered_text(finding_.evidence[arrow.from], finding_.evidence[arrow.to]);
      story_.arrows.push_back(std::move(arrow));
    }
  }

  static std::vector<std::string> unordered_text(const Evidence& from, const Evidence& to) {
    return {"nothing orders these two", fmt::format("rank {} {} → rank {} {}, {} later", from.rank, from.call,
                                                    to.rank, to.call, duration_text(to.t_ns - from.t_ns))};
  }

  // ---- a collective that not all ran
  void tell_collective() {
    find_collective();
    note_odd();
    frame_collective();
    // What is known of ranks that exchange something over TCP may have been seen only at the end.
    if (story_.communicator == merged::kNone)
      story_.focus.from_ns = std::min(story_.focus.from_ns, finding_.first_ns);
    // Little is seen of arrivals alone: what comes of them belongs to the picture.
    std::int64_t more = std::max<std::int64_t>(story_.focus.length() * 6 / 10, 100'000);
    story_.focus.to_ns += more;
    story_.focus.from_ns -= more / 4;
  }

  void note_odd() {
    for (std::size_t i = story_.discs.size(); i-- > 0 && story_.notes.empty();) {
      if (!accuses(finding_, i, reader_.ranks().size())) continue;
      auto lines = odd_text(finding_, i, collective_of(reader_, story_.discs[i].place));
      if (!lines.empty()) story_.notes.push_back({i, std::move(lines)});
    }
  }

  // The evidence is what the hosts issued. Where they were ahead, the devices come to it later.
  void frame_collective() {
    auto shape = shape_at(reader_, story_.communicator, story_.sequence);
    if (!shape) return;
    for (const MemberShape& member : shape->members)
      if (!member.absent) story_.focus.to_ns = std::max({story_.focus.to_ns, member.came_ns, member.from_ns});
  }

  // The last that one at fault took part in, else the first.
  void find_collective() {
    for (const StoryDisc& disc : story_.discs) {
      merged::CollectiveRef own = collective_of(reader_, disc.place);
      if (own.communicator == merged::kNone) continue;
      if (story_.communicator != merged::kNone && !story_.at_fault(disc.rank_row)) continue;
      story_.communicator = own.communicator, story_.sequence = own.sequence;
    }
  }

  // Of what is seen in the lanes at another time than that at which its host issued it.
  void tell_device_times() {
    for (StoryDisc& disc : story_.discs) {
      if (disc.device_ns == merged::kUnknown) disc.device_ns = device_begin(reader_, disc.place);
      bool seen =
          disc.device_ns != merged::kUnknown && disc.device_ns - disc.t_ns > story_.focus.length() / 20;
      if (!seen) disc.device_ns = merged::kUnknown;
    }
  }

  // The host only enqueues: what the evidence is about comes when the devices get to it.
  void frame_transfers() {
    for (const StoryDisc& disc : story_.discs) {
      merged::CollectiveRef own = collective_of(reader_, disc.place);
      if (own.communicator == merged::kNone) continue;
      auto some = reader_.collectives(own.communicator, own.sequence, own.sequence + 1);
      if (!some || some->empty()) continue;
      CollectiveShape shape = shape_of(reader_, some->front());
      story_.focus.from_ns = std::min(story_.focus.from_ns, shape.first_ns);
      if (!shape.never) story_.focus.to_ns = std::max(story_.focus.to_ns, shape.end_ns);
    }
  }

  // A host may issue all of a step at one moment: what tells them apart is when its device does them.
  void put_discs_on_devices() {
    for (StoryDisc& disc : story_.discs) {
      disc.device_ns = device_begin(reader_, disc.place);
      disc.on_device = disc.device_ns != merged::kUnknown;
      if (disc.on_device) disc.shown_ns = disc.device_ns;
    }
  }

  // In a view of the whole wait it is a sliver. By a rank that relies on it: those are told last.
  void note_barrier() {
    constexpr std::string_view kWaits = "its thread ";
    for (std::size_t i = story_.discs.size(); i-- > 0 && story_.notes.empty();) {
      merged::CollectiveRef own = collective_of(reader_, story_.discs[i].place);
      std::size_t waits = finding_.evidence[i].detail.find(kWaits);
      if (own.communicator == merged::kNone || waits == std::string::npos) continue;
      story_.notes.push_back({i,
                              {fmt::format("barrier #{} orders nothing", own.sequence),
                               fmt::format("rank {}: {}", finding_.evidence[i].rank,
                                           finding_.evidence[i].detail.substr(waits))}});
    }
  }

  // ---- reductions, some of them in vain
  void tell_syncs() {
    std::vector<std::uint64_t> firsts;
    for (const StoryDisc& disc : story_.discs) {
      merged::CollectiveRef own = collective_of(reader_, disc.place);
      if (own.communicator == merged::kNone) continue;
      story_.communicator = own.communicator;
      firsts.push_back(own.sequence);
    }
    if (firsts.size() < 2) return;
    for (std::size_t i = 0; i < firsts.size(); ++i) {
      bool last = i + 1 == firsts.size();
      std::uint64_t size = last ? firsts[i] - firsts[i - 1] : firsts[i + 1] - firsts[i];
      story_.syncs.push_back({firsts[i], firsts[i] + size, last});
    }
    story_.lane = StoryLane::kSyncs;
    // The host only enqueues: when they ran on the devices is what costs.
    for (SyncSet& set : story_.syncs) {
      set.from_ns = INT64_MAX, set.to_ns = INT64_MIN;
      auto some = reader_.collectives(story_.communicator, set.first, set.end);
      if (!some) continue;
      for (const merged::Collective& collective : *some) {
        CollectiveShape shape = shape_of(reader_, collective);
        set.from_ns = std::min(set.from_ns, shape.first_ns);
        set.to_ns = std::max(set.to_ns, shape.end_ns);
      }
      if (set.to_ns < set.from_ns) continue;
      std::size_t number = static_cast<std::size_t>(&set - story_.syncs.data());
      StoryDisc& disc = story_.discs[number];
      disc.device_ns = device_begin(reader_, disc.place);
      put_in_lane(disc, set.from_ns);
      story_.focus.from_ns = number == 0 ? set.from_ns : std::min(story_.focus.from_ns, set.from_ns);
      story_.focus.to_ns = std::max(story_.focus.to_ns, set.to_ns);
    }
    put_update_behind(story_.syncs.back());
  }

  // What is left of the evidence is the optimizer's update: it waits for its own rank's last reduction.
  void put_update_behind(const SyncSet& last) {
    for (std::size_t i = story_.syncs.size(); i < story_.discs.size(); ++i) {
      StoryDisc& disc = story_.discs[i];
      std::int64_t done_ns =
          device_end(reader_, story_.communicator, last.end - 1, finding_.evidence[i].rank);
      disc.waits = done_ns != merged::kUnknown;
      if (disc.waits) disc.device_ns = std::max(done_ns, disc.t_ns);
      put_in_lane(disc, std::max(last.to_ns, disc.t_ns));
      story_.focus.to_ns = std::max(story_.focus.to_ns, disc.shown_ns);
    }
  }

  // Where its own rank's device comes to it; at `else_ns` where that is not known.
  static void put_in_lane(StoryDisc& disc, std::int64_t else_ns) {
    disc.in_lane = true, disc.lane_y = kSyncMiddle;
    disc.shown_ns = disc.device_ns == merged::kUnknown ? else_ns : disc.device_ns;
  }

  // ---- what ranks train on
  void tell_batches() {
    for (std::uint32_t row : story_.fault_rows) story_.lines.push_back({row, {}, false, true});
    if (story_.lines.size() > kMostBatchLines) story_.lines.resize(kMostBatchLines);
    for (FileLine& line : story_.lines) add_inputs(line);
    bool seen = std::any_of(story_.lines.begin(), story_.lines.end(),
                            [](const FileLine& line) { return !line.accesses.empty(); });
    if (!seen) return story_.lines.clear(), tell_samples(reader_, story_);
    story_.lane = StoryLane::kBatches;
    number_contents(story_.lines);
    // From the evidence on as many as can be told apart: what was copied before training began is no batch.
    const std::vector<StoryAccess>& inputs = story_.lines.front().accesses;
    TimeSpan evidence = evidence_span();
    auto first = std::find_if(inputs.begin(), inputs.end(),
                              [&](const StoryAccess& input) { return input.begin_ns >= evidence.from_ns; });
    auto shown = std::min<std::ptrdiff_t>(std::ssize(inputs), kInputsShown);
    first = std::min(first, inputs.end() - shown);
    story_.focus = {std::min(first->begin_ns, evidence.from_ns),
                    std::max((first + shown - 1)->end_ns, evidence.to_ns)};
  }

  // Of one rank: the others do the same with their own samples.
  void tell_passes() {
    if (story_.fault_rows.empty()) return;
    FileLine inputs{story_.fault_rows.front(), {}, false, true};
    add_inputs(inputs);
    story_.lines = passes_of(inputs);
    if (!story_.lines.empty()) {
      story_.lane = StoryLane::kBatches;
      number_contents(story_.lines);
      const std::vector<StoryAccess>& first = story_.lines.front().accesses;
      std::size_t last = std::min<std::size_t>(first.size(), kInputsShown) - 1;
      story_.focus = {first.front().begin_ns, first[last].end_ns};
    } else if (story_.discs.size() > 1)
      story_.arrows.push_back({0, 1, ArrowKind::kInTime, {"the same sample, after the same one as before"}});
  }

  void tell_absence(StoryAbsence absence) {
    story_.lane = StoryLane::kAbsence;
    story_.focus = absence.focus;
    story_.absence = std::move(absence);
    note_odd();
  }

  void add_inputs(FileLine& line) const {
    const merged::RankRow& rank = reader_.ranks()[line.rank_row];
    for (std::uint32_t track = rank.first_track; track < rank.first_track + rank.tracks; ++track) {
      if (reader_.tracks()[track].kind != merged::TrackKind::kInput) continue;
      std::uint64_t count = std::min(reader_.tracks()[track].events, kMostInputs);
      auto digests = reader_.digests(track, 0, count);
      for (std::uint64_t i = 0; digests && i < std::min<std::uint64_t>(count, digests->size()); ++i) {
        merged::Event event = reader_.event({track, i});
        line.accesses.push_back({event.begin_ns, event.end_ns, event.kind, false, (*digests)[i]});
      }
      return;
    }
  }

  static constexpr std::uint64_t kMostInputs = 4096;
  static constexpr std::ptrdiff_t kInputsShown = 9;

  const Reader& reader_;
  const Finding& finding_;
  Story story_;
};

}  // namespace

bool Story::several_files() const {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const FileLine& line) { return !line.file.empty() && line.file != file; });
}

bool Story::concerns(std::uint32_t row) const {
  return std::binary_search(rank_rows.begin(), rank_rows.end(), row);
}
bool Story::at_fault(std::uint32_t row) const {
  return std::binary_search(fault_rows.begin(), fault_rows.end(), row);
}

Story sketch(const Reader& reader, std::uint32_t finding) {
  if (finding >= reader.outcome().findings.size()) return {};
  return Teller(reader, finding).sketch();
}

Story tell(const Reader& reader, std::uint32_t finding) {
  if (finding >= reader.outcome().findings.size()) return {};
  return Teller(reader, finding).tell();
}

}  // namespace ddpscope::viewer
