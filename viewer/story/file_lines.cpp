// Which ranks did what with the file that a finding is about.
#include "viewer/story/file_lines.h"

#include <algorithm>
#include <map>

namespace ddpscope::viewer {
namespace {

class FileTeller {
 public:
  FileTeller(const merged::Reader& reader, const findings::Finding& finding, Story& story)
      : reader_(reader), finding_(finding), story_(story) {}

  void tell() {
    for (const findings::Evidence& evidence : finding_.evidence)
      if (!evidence.file.empty() && story_.file.empty()) story_.file = evidence.file;
    TimeSpan near = file_span(), used = near;
    std::int64_t around = std::max<std::int64_t>(near.length(), 200'000);
    near = {near.from_ns - around, near.to_ns + 3 * around};
    std::map<std::uint32_t, FileLine> lines;
    auto add = [&](merged::EventPlace place) {
      std::uint32_t row = reader_.tracks()[place.track].rank_row;
      FileLine& line = lines.try_emplace(row, FileLine{row, {}, false, story_.at_fault(row)}).first->second;
      merged::Event event = reader_.event(place);
      line.accesses.push_back({event.begin_ns, event.end_ns, event.kind, leaves_open(event), 0});
      line.writes |= event.kind == merged::Kind::kFileWrite;
      if (near.contains(event.begin_ns)) {
        used.from_ns = std::min(used.from_ns, event.begin_ns);
        used.to_ns = std::max(used.to_ns, std::min(event.end_ns, near.to_ns));
      }
    };
    for (merged::EventPlace place : reader_.accesses_of(story_.file)) add(place);
    for (std::uint32_t row : story_.rank_rows)
      lines.try_emplace(row, FileLine{row, {}, false, story_.at_fault(row)});
    for (auto& [row, line] : lines) {
      line.file = file_of(row);
      if (line.file != story_.file)
        for (merged::EventPlace place : reader_.accesses_of(line.file))
          if (reader_.tracks()[place.track].rank_row == row) add(place);
      if (line.accesses.empty()) add_renamed(row, add);
      // Of a bug that meets every host's ranks in a file of their own, the others' lines are empty.
      if (!line.accesses.empty() || has_disc(row)) story_.lines.push_back(std::move(line));
    }
    story_.focus = used;
    put_discs_on_lines();
  }

 private:
  bool has_disc(std::uint32_t rank_row) const {
    for (std::size_t i = 0; i < story_.discs.size(); ++i)
      if (story_.discs[i].rank_row == rank_row && is_of_lane(i)) return true;
    return false;
  }

  // Of several copies each rank may write its own; two accesses that conflict are of one file.
  std::string file_of(std::uint32_t rank_row) const {
    std::string own;
    for (std::size_t i = 0; i < story_.discs.size() && finding_.order.empty(); ++i) {
      const std::string& file = finding_.evidence[i].file;
      if (story_.discs[i].rank_row != rank_row || file.empty()) continue;
      if (file == story_.file) return file;
      if (own.empty()) own = file;
    }
    return own.empty() ? story_.file : own;
  }
  bool is_of_lane(std::size_t evidence) const {
    const std::string& file = finding_.evidence[evidence].file;
    return file == story_.file || (!file.empty() && file == file_of(story_.discs[evidence].rank_row));
  }

  // The file was written under another name and then renamed: what follows the evidence's opening.
  template <typename Add>
  void add_renamed(std::uint32_t rank_row, const Add& add) const {
    constexpr std::uint64_t kFarthest = 64;  // events
    for (std::size_t i = 0; i < story_.discs.size(); ++i) {
      merged::EventPlace place = story_.discs[i].place;
      if (story_.discs[i].rank_row != rank_row || !is_of_lane(i) || place == merged::kNoEvent) continue;
      auto opening = reader_.detail(place);
      if (!opening || opening->file.empty()) continue;
      std::uint64_t end = std::min(reader_.tracks()[place.track].events, place.index + kFarthest);
      for (; place.index < end; ++place.index) {
        auto detail = reader_.detail(place);
        if (detail && detail->file == opening->file) add(place);
      }
      return;
    }
  }

  // Of the evidence of that file: what became of others, or of the job, may be much later.
  TimeSpan file_span() const {
    TimeSpan span{INT64_MAX, INT64_MIN};
    for (std::size_t i = 0; i < story_.discs.size(); ++i) {
      if (!is_of_lane(i)) continue;
      span.from_ns = std::min(span.from_ns, story_.discs[i].t_ns);
      span.to_ns = std::max(span.to_ns, story_.discs[i].t_ns);
    }
    return span.from_ns <= span.to_ns ? span : story_.focus;
  }

  bool leaves_open(const merged::Event& event) const {
    if (event.name >= reader_.names().size()) return false;
    std::string_view name = reader_.names()[event.name].text;
    for (const char* part : {"open", "read", "write", "creat", "seek", "sync"})
      if (name.find(part) != std::string_view::npos) return true;
    return false;
  }

  void put_discs_on_lines() {
    for (std::size_t i = 0; i < story_.discs.size(); ++i) {
      const findings::Evidence& evidence = finding_.evidence[i];
      if (!is_of_lane(i)) continue;
      auto found = std::find_if(story_.lines.begin(), story_.lines.end(), [&](const FileLine& line) {
        return line.rank_row == story_.discs[i].rank_row;
      });
      if (found == story_.lines.end() || found - story_.lines.begin() >= kMostFileLines) continue;
      story_.discs[i].in_lane = true;
      story_.discs[i].lane_y = file_line_middle(static_cast<std::size_t>(found - story_.lines.begin()));
      std::size_t end =
          std::min({evidence.detail.find(','), evidence.detail.find(" until"), evidence.detail.size()});
      if (!found->does.empty()) continue;
      found->does = evidence.detail.substr(0, end), found->disc = i;
    }
  }

  const merged::Reader& reader_;
  const findings::Finding& finding_;
  Story& story_;
};

}  // namespace

void tell_file_lines(const merged::Reader& reader, const findings::Finding& finding, Story& story) {
  FileTeller(reader, finding, story).tell();
}

}  // namespace ddpscope::viewer
