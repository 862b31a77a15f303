// A merged file that is looked at while it is written.
#include "collector/merged/make.h"
#include "collector/merged/process_tables.h"
#include "collector/merged/writer.h"
#include "tests/tools/held_findings.h"
#include "tests/unit/collector/merged_file.h"
#include "tests/unit/collector/recorded.h"

namespace ddpscope::merged {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kRanks = 3;
constexpr std::int64_t kDuration = 10'000'000;

class Preview : public MergedFile {
 protected:
  // Looks at the file before each rank, and before the communicator.
  void write(const fs::path& path, bool look) {
    auto writer = Writer::create(path, {kDuration, kRanks * kEvents, kRanks});
    ASSERT_TRUE(writer);
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      if (look) keep(*writer);
      write_rank(*writer, rank);
    }
    if (look) keep(*writer);
    writer->settle();
    writer->begin_communicator(world());
    Collective collective;
    collective.arrivals.resize(kRanks);
    for (Arrival& arrival : collective.arrivals) arrival.arrival_ns = 5;
    collective.signatures.resize(1);
    writer->add_collective(collective);
    ASSERT_FALSE(writer->finish(contents()));
  }

  std::vector<Reader> previews_;
  static constexpr std::uint64_t kEvents = 3'000;

 private:
  // Of rank r the name "call r" alone: names come up as ranks do.
  static void write_rank(Writer& writer, std::uint32_t rank) {
    Track track;
    track.rank_row = track.process = rank;
    std::uint32_t name = writer.name("call " + std::to_string(rank), Kind::kOther);
    std::uint32_t handle = writer.open_track(track);
    for (std::uint64_t i = 0; i < kEvents; ++i) {
      Event event;
      event.begin_ns = static_cast<std::int64_t>(i * 1000 + rank);
      event.end_ns = event.begin_ns + 500;
      event.name = name;
      writer.add(handle, event, slot_of(CallSlot{}));
    }
    ByteWriter tables;
    ProcessTables().put(tables);
    writer.add_process(rank, tables.bytes());
    writer.close_rank(rank, true);
  }

  static Contents contents() {
    Contents contents;
    Facts& facts = contents.facts;
    facts.job.duration_ns = kDuration;
    facts.hosts.push_back({"node0", 0, 7, 0, {}});
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      facts.hosts[0].ranks.push_back(rank);
      RankRow row;
      row.rank = static_cast<std::int32_t>(rank);
      row.host = 0;
      facts.ranks.push_back(row);
      facts.processes.push_back({"node0:" + std::to_string(rank), 1, 0, row.rank, "rank", ""});
    }
    return contents;
  }

  static CommunicatorRow world() {
    CommunicatorRow row;
    row.size = kRanks;
    row.name = "world";
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      auto number = static_cast<std::int32_t>(rank);
      row.members.push_back({number, number, rank, 1});
    }
    return row;
  }

  void keep(Writer& writer) {
    auto sections = Output::create(file() += ".sections");
    ASSERT_TRUE(sections);
    auto preview = writer.preview(contents(), {world()}, std::move(*sections));
    ASSERT_TRUE(preview) << preview.error().what;
    previews_.push_back(std::move(*preview));
  }
};

TEST_F(Preview, HoldsTheRanksThatAreWritten) {
  write(file(), true);
  ASSERT_EQ(previews_.size(), kRanks + 1);
  for (std::uint32_t written = 0; written <= kRanks; ++written) {
    const Reader& preview = previews_[written];
    EXPECT_TRUE(preview.is_preview());
    ASSERT_EQ(preview.ranks().size(), kRanks);
    ASSERT_EQ(preview.tracks().size(), written);
    ASSERT_EQ(preview.communicators().size(), 1u);
    EXPECT_EQ(preview.communicators()[0].collectives, 0u);
    for (std::uint32_t rank = 0; rank < kRanks; ++rank)
      EXPECT_EQ(preview.ranks()[rank].tracks, rank < written ? 1u : 0u);
    for (std::uint32_t rank = 0; rank < written; ++rank) {
      EXPECT_EQ(preview.event({rank, kEvents - 1}).begin_ns,
                static_cast<std::int64_t>((kEvents - 1) * 1000 + rank));
      auto detail = preview.detail({rank, 0});
      ASSERT_TRUE(detail) << detail.error().what;
      EXPECT_EQ(preview.names_on(rank).front().count, kEvents);
    }
  }
}

TEST_F(Preview, LeavesNoTraceInTheFile) {
  write(file(), true);
  fs::path plain = file() += ".plain";
  write(plain, false);
  EXPECT_EQ(bytes_of(file()), bytes_of(plain));
  auto whole = Reader::open(file());
  ASSERT_TRUE(whole);
  EXPECT_FALSE(whole->is_preview());
  fs::remove(plain);
  EXPECT_FALSE(fs::exists(file() += ".sections"));
}

TEST_F(Preview, OfATraceHasRowsThenEventsThenFindings) {
  tests::Recorded trace(tests::kTwoRanks);
  tests::HeldFindings progress;
  std::vector<std::size_t> ranks, tracks;
  std::vector<bool> judged;
  auto made = merged_file_of(trace.folder(), progress, nullptr, -1, [&](const Reader& preview) {
    ranks.push_back(preview.ranks().size());
    tracks.push_back(preview.tracks().size());
    judged.push_back(preview.is_judged());
    progress.see(preview);
  });
  ASSERT_TRUE(made);
  EXPECT_FALSE(progress.too_late()) << "events wait for findings";
  ASSERT_GE(ranks.size(), 3u);
  EXPECT_EQ(ranks.front(), 2u);
  EXPECT_EQ(tracks.front(), 0u);
  EXPECT_TRUE(std::is_sorted(tracks.begin(), tracks.end()));
  EXPECT_TRUE(std::is_sorted(judged.begin(), judged.end()));
  EXPECT_FALSE(judged[1]) << "events";
  EXPECT_TRUE(judged.back()) << "findings before the collectives";
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(made->file.parent_path())) files += entry.is_regular_file();
  EXPECT_EQ(files, 1u);
  auto again = merged_file_of(trace.folder(), progress, nullptr, -1,
                              [](const Reader&) { FAIL() << "a file that is there needs none"; });
  EXPECT_TRUE(again && again->from_cache);
}

}  // namespace
}  // namespace ddpscope::merged
