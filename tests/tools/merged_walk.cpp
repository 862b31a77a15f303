// Calls each function of the reader for every row, and recomputes checksums.
#include "tests/tools/merged_walk.h"

#include <array>
#include <cstddef>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "collector/merged/format.h"

namespace ddpscope::tests {
namespace {

using namespace merged;

class Walk {
 public:
  explicit Walk(const Reader& reader) : reader_(reader) {}

  std::uint64_t run() {
    rows();
    for (std::uint32_t track = 0; track < reader_.tracks().size(); ++track) look_at_track(track);
    for (std::uint32_t i = 0; i < reader_.communicators().size(); ++i) look_at_communicator(i);
    cells();
    return seen_;
  }

 private:
  void see(std::uint64_t value) { seen_ = seen_ * 31 + value; }
  void see(std::string_view text) {
    for (char c : text) see(static_cast<unsigned char>(c));
  }

  void rows() {
    if (auto info = reader_.info()) see(*info);
    if (auto summary = reader_.summary()) see(*summary);
    for (const HostRow& host : reader_.hosts()) see(host.name), see(host.ranks.size());
    for (const RankRow& row : reader_.ranks()) see(row.process), see(row.first_track + row.tracks);
    for (const ProcessRow& row : reader_.processes()) see(row.name), see(row.command);
    for (const Name& name : reader_.names()) see(name.text), see(name.count);
    for (const findings::Finding& finding : reader_.outcome().findings) {
      see(finding.title);
      for (const std::string& file : finding.files) see(reader_.accesses_of(file).size());
    }
    for (const Mark& mark : reader_.marks()) see(reader_.place_of(mark.finding, mark.evidence).index);
    see(reader_.problems().size());
    see(reader_.find_names("A").size());
  }

  void look_at_track(std::uint32_t track) {
    const Track& row = reader_.tracks()[track];
    for (unsigned level = 0; level < row.levels; ++level) {
      for (const Node& node : reader_.level(track, level)) see(node.busy_ns + node.count + node.kinds);
      see(reader_.nodes_ready(track, level, 0, reader_.nodes(track, level)));
    }
    std::array<Event, kLeafEvents> events;
    for (std::uint64_t leaf = 0; leaf < reader_.nodes(track, 0); ++leaf)
      for (std::size_t i = 0, count = reader_.leaf(track, leaf, events); i < count; ++i) {
        see(static_cast<std::uint64_t>(events[i].begin_ns ^ events[i].end_ns));
        see(reader_.names()[events[i].name].text.size() + events[i].severity);
      }
    see(reader_.leaves_ready(track, 0, reader_.nodes(track, 0)));
    for (std::uint64_t index : {std::uint64_t{0}, row.events / 2, row.events - 1, row.events})
      look_at_event({track, index});
    for (const NameCount& name : reader_.names_on(track)) see(name.count);
    std::vector<bool> names(reader_.names().size(), true);
    reader_.for_each_named(track, names,
                           [&](std::uint64_t index, const Event&) { return see(index), index < 100; });
    if (auto digests = reader_.digests(track, 0, 100)) see(digests->size());
  }

  void look_at_event(EventPlace place) {
    Event event = reader_.event(place);
    see(reader_.first_ending_after(place.track, event.begin_ns));
    auto detail = reader_.detail(place);
    see(detail ? to_text(reader_, *detail) : detail.error().what);
  }

  void look_at_communicator(std::uint32_t number) {
    const CommunicatorRow& row = reader_.communicators()[number];
    for (unsigned level = 0; level < row.levels; ++level) {
      for (const CollectiveNode& node : reader_.collective_level(number, level))
        see(node.waited_ns + node.count);
      see(reader_.collective_nodes_ready(number, level, 0, row.collectives));
    }
    for (std::uint64_t first = 0; first < row.collectives; first += 1000) {
      auto collectives = reader_.collectives(number, first, first + 1000);
      if (!collectives) return see(collectives.error().what);
      for (const Collective& collective : *collectives)
        for (const Arrival& arrival : collective.arrivals)
          see(collective.signatures[arrival.signature].count);
    }
    see(reader_.collectives_ready(number, 0, row.collectives));
  }

  void cells() {
    for (std::uint32_t row = 0; row < reader_.ranks().size(); ++row)
      for (const Cell& cell : reader_.rank_cells(row)) see(cell.late_us + cell.files);
    for (std::uint32_t host = 0; host < reader_.hosts().size(); ++host)
      for (const Cell& cell : reader_.host_cells(host)) see(cell.late_us);
    for (const Cell& cell : reader_.job_cells()) see(cell.waiting);
    for (std::uint32_t in : reader_.ranks_in(Activity::kCompute)) see(in);
  }

  const Reader& reader_;
  std::uint64_t seen_ = 0;
};

}  // namespace

std::uint64_t look_at_all(const Reader& reader) { return Walk(reader).run(); }

void repair_checksums(std::vector<unsigned char>& file) {
  Header header;
  if (file.size() < sizeof(header)) return;
  std::memcpy(&header, file.data(), sizeof(header));
  header.file_bytes = file.size();
  if (header.table_offset < file.size()) {
    std::size_t left = file.size() - header.table_offset;
    if (header.table_entries > left / sizeof(SectionEntry))
      header.table_entries = static_cast<std::uint32_t>(left / sizeof(SectionEntry));
    unsigned char* table = file.data() + header.table_offset;
    for (std::uint32_t i = 0; i < header.table_entries; ++i) {
      SectionEntry entry;
      std::memcpy(&entry, table + i * sizeof(entry), sizeof(entry));
      if (entry.offset > file.size() || entry.bytes > file.size() - entry.offset) continue;
      entry.checksum = XXH3_64bits(file.data() + entry.offset, entry.bytes);
      std::memcpy(table + i * sizeof(entry), &entry, sizeof(entry));
    }
    header.table_checksum = XXH3_64bits(table, header.table_entries * sizeof(SectionEntry));
  }
  header.header_checksum = XXH3_64bits(&header, offsetof(Header, header_checksum));
  std::memcpy(file.data(), &header, sizeof(header));
}

}  // namespace ddpscope::tests
