// Which rows there are, and what stands in them.
#include <fmt/format.h>

#include <cmath>

#include "tests/gui/app_fixture.h"
#include "viewer/timeline/labels.h"

namespace ddpscope::viewer {
namespace {

// A record holds 110 look-ups of one folder in three seconds; the rank reads and writes meanwhile.
constexpr const char* kLooksMeanwhile =
    "for r in 0..1 {\n"
    "  process r$r rank=$r world=2 until=9\n"
    "  r$r 0.100 +0.010 ncclCommInitRank communicator=1 id=0xabc rank=$r size=2 device=$r\n"
    "  r$r 1.000 +3.000 stat path=\"/data/parts\" count=110\n"
    "  r$r 1.500 +0.001 open path=\"/data/in${r}.bin\" flags=rdonly file=1\n"
    "  r$r 2.000 +0.500 read file=1 bytes=9000 next=9000\n"
    "  r$r 5.000 +1.000 stat path=\"/data/slow\"\n"
    "}\n";

TEST_F(AppTest, LookUpsInOneRecordHideNothingThatTheirThreadDoesMeanwhile) {
  open(kLooksMeanwhile);
  const merged::Reader& reader = app_->reader();
  for (std::uint32_t track = 0; track < reader.tracks().size(); ++track) {
    const merged::Track& own = reader.tracks()[track];
    EXPECT_TRUE(own.kind != merged::TrackKind::kFiles || own.depth == 0) << "all stand in the row";
    EXPECT_TRUE(own.kind != merged::TrackKind::kLooks || reader.detail({track, 0})->calls == 110u);
  }
  // In the middle of the look-ups the read is under the mouse, and below the other calls only these.
  const Row& row = app_->rows()[row_of_rank(app_->rows(), reader, 0)];
  ASSERT_FALSE(row.parts.empty());
  ASSERT_GE(row.parts[0].tracks.size(), 2u);
  EXPECT_EQ(reader.tracks()[row.parts[0].tracks[0]].kind, merged::TrackKind::kLooks);
  // A summary of what ranks are in does not count them: nothing else runs at three seconds.
  std::uint32_t column = static_cast<std::uint32_t>(reader.columns() * 3 / 9);
  EXPECT_EQ(reader.ranks_in(merged::Activity::kOther)[column], 0u);
  EXPECT_GT(reader.ranks_in(merged::Activity::kOther)[reader.columns() * 11 / 18], 0u) << "a slow one counts";
}

// Rank 0 waits in a call that is not recorded, the last computes: `ddpscope run` saw both for 20 s.
TEST_F(AppTest, WhereAThreadWasSeenStandsBelowItsCalls) {
  App& app = open(
      "for r in 0..1 {\n"
      "  process r$r rank=$r world=2\n"
      "}\n"
      "for i in 0..9 every 0.100 {\n"
      "  for r in 0..1 {\n"
      "    r$r 1.000 +0.001 open path=\"/data/in.bin\" file=${i + 1} stack=\"train.py:40 step\"\n"
      "  }\n"
      "}\n"
      "process run pid=9\n"
      "run 3.0 +20.0 thread_seen pid=1000 start_time=100000 inside=\"futex\" looks=21\n"
      "run 3.0 +20.0 thread_seen pid=1001 start_time=100000 looks=21 running=21 cpu_ns=19000000000\n"
      "run 0.05 +23.30 job_watched pid=9 status=143\n"
      "run 23.1 +0 job_told pid=1 status=15\n"
      "run 23.2 +0 process_ended pid=1000 start_time=100000 status=143\n"
      "run 23.2 +0 process_ended pid=1001 start_time=100000 status=143\n");
  settle();
  ASSERT_TRUE(app.reader().outcome().findings.empty());
  Box plot = app.panes().plot_of(app.panes().lanes);
  for (auto [rank, label] : {std::pair(0u, "seen in futex"), {1u, "seen in code of its own"}}) {
    std::size_t row = row_of_rank(app.rows(), app.reader(), rank);
    const RowPart& host = app.rows()[row].parts.at(0);
    ASSERT_GE(host.tracks.size(), 2u);
    EXPECT_EQ(app.reader().tracks()[host.tracks.front()].kind, merged::TrackKind::kSightings);
    Box line = app.placing().part_box({row, 0}, plot);
    TimeView view{app.state().shown, plot.left, plot.width()};
    click({view.x_of(15'000'000'000), line.middle_y()});
    ASSERT_EQ(app.state().event.track, host.tracks.front());
    auto detail = app.reader().detail(app.state().event);
    ASSERT_TRUE(detail);
    EXPECT_EQ(label_of(*detail, app.reader().names()[detail->event.name].text), label);
    // A recorded call stands upon it.
    click({view.x_of(1'000'500'000), line.middle_y()});
    EXPECT_NE(app.state().event.track, host.tracks.front());
  }
}

// `ddpscope run` looked at rank 0 each second and saw it in one place; it ran on between some of the looks.
TEST_F(AppTest, AThreadStoodOnlyBetweenLooksWithoutACall) {
  open(
      "for r in 0..1 {\n"
      "  process r$r rank=$r world=2 until=20\n"
      "  r$r 0.100 +0.010 ncclCommInitRank communicator=1 id=0xabc rank=$r size=2 device=$r\n"
      "}\n"
      "r0 3.5 +0.001 open path=\"/data/in\" flags=rdonly file=1\n"
      "r0 4.2 +1.6 cudaStreamSynchronize stream=0x5\n"
      "r0 6.2 +2.1 stat path=\"/data/parts\" count=110\n"
      "r0/2 10.5 +0.001 open path=\"/data/other\" flags=rdonly file=2\n"
      "r0 11.2 +3.6 cudaStreamSynchronize stream=0x5\n"
      "process run pid=9\n"
      "run 1 +15 thread_seen pid=1000 start_time=100000 inside=\"futex\" looks=16\n");
  const merged::Reader& reader = app_->reader();
  std::vector<std::pair<std::int64_t, std::int64_t>> stood;  // s
  for (std::uint32_t track = 0; track < reader.tracks().size(); ++track)
    if (reader.tracks()[track].kind == merged::TrackKind::kSightings)
      for (std::uint64_t i = 0; i < reader.tracks()[track].events; ++i) {
        merged::Event event = reader.event({track, i});
        stood.push_back({std::llround(1e-9 * static_cast<double>(event.begin_ns)),
                         std::llround(1e-9 * static_cast<double>(event.end_ns))});
      }
  // Many in one record are anywhere in it; in one that lasts it stands; another thread's say nothing.
  EXPECT_EQ(stood, (decltype(stood){{1, 3}, {9, 11}, {12, 14}, {15, 16}}));
}

// Reductions run among all, the call that differs in the pairs that come after them.
std::string differs_in_pairs() {
  std::string text =
      "for r in 0..3 {\n"
      "  process r$r rank=$r world=4 until=9\n"
      "  r$r 0.100 +0.01 ncclCommInitRank communicator=1 id=0xabc rank=$r size=4 device=$r\n"
      "  r$r 0.120 +0.01 ncclCommInitRank communicator=2 id=${100+r//2} rank=${r%2} size=2 device=$r\n"
      "  for s in 0..2 every 0.010 {\n"
      "    r$r 1.000 +0.001 ncclAllReduce communicator=1 count=1000 datatype=f32 stream=0x5\n"
      "    r$r 1.002 +0.001 cudaStreamSynchronize stream=0x5\n"
      "  }\n"
      "}\n";
  for (int rank = 0; rank < 4; ++rank)
    text += fmt::format("r{} 2.000 +0.001 ncclAllReduce communicator=2 count={} datatype=f32 stream=0x5\n",
                        rank, rank == 3 ? 7 : 5000);
  return text + "r* 2.002 inside cudaStreamSynchronize stream=0x5\n";
}

// However many communicators there are, and wherever one looks.
TEST_F(AppTest, TheCommunicatorThatAFindingIsAboutStandsFirstAndOpen) {
  App& app = open(differs_in_pairs());
  settle();
  ASSERT_GE(app.reader().communicators().size(), 3u);
  std::uint32_t about = app.story().communicator;
  ASSERT_NE(about, merged::kNone);
  EXPECT_EQ(app.reader().communicators()[about].members.size(), 2u);
  auto communicators = [&] {
    std::vector<std::pair<std::uint32_t, bool>> rows;
    for (const Row& row : app.rows())
      if (row.kind == RowKind::kCommunicator) rows.emplace_back(row.index, row.open);
    return rows;
  };
  auto before = communicators();
  EXPECT_EQ(before.at(0), std::pair(about, true));
  EXPECT_EQ(before.size(), app.reader().communicators().size());
  press(Key::kHome);
  EXPECT_EQ(communicators(), before);
}

// Its record does not say of which communicators what it enqueues is.
TEST_F(AppTest, TheEndOfAGroupNamesTheCommunicatorsOfTheGroup) {
  open(
      "for r in 0..1 {\n"
      "  process r$r rank=$r world=2 until=9\n"
      "  r$r 0.100 +0.01 ncclCommInitRank communicator=1 id=0xabc rank=$r size=2 device=$r\n"
      "  r$r 0.120 +0.01 ncclCommInitRank communicator=2 id=0xdef rank=$r size=2 device=$r\n"
      "  r$r 0.900 +0.001 ncclAllReduce communicator=1 count=100 datatype=f32 stream=0x5\n"
      "  r$r 1.000 +0.001 ncclGroupStart\n"
      "  r$r 1.010 +0.001 ncclAllReduce communicator=1 count=100 datatype=f32 stream=0x5\n"
      "  r$r 1.020 +0.001 ncclGroupStart\n"
      "  r$r 1.030 +0.001 ncclAllReduce communicator=1 count=200 datatype=f32 stream=0x5\n"
      "  r$r 1.040 +0.001 ncclGroupEnd\n"
      "  r$r 1.050 +0.001 ncclSend communicator=2 count=100 datatype=f32 peer=${1 - r} stream=0x5\n"
      "  r$r 1.060 +0.001 ncclRecv communicator=2 count=100 datatype=f32 peer=${1 - r} stream=0x5\n"
      "  r$r 1.070 +0.001 ncclGroupEnd\n"
      "  r$r 2.000 +0.001 ncclGroupEnd\n"  // of one whose beginning is not in the trace
      "}\n");
  const merged::Reader& reader = app_->reader();
  std::vector<merged::Detail> ends;
  for (std::uint32_t track = 0; track < reader.tracks().size(); ++track)
    for (std::uint64_t i = 0; i < reader.tracks()[track].events && ends.size() < 3; ++i)
      if (auto detail = reader.detail({track, i}); detail && detail->call == "ncclGroupEnd")
        ends.push_back(*detail);
  ASSERT_EQ(ends.size(), 3u);
  EXPECT_EQ(label_of(ends[0], "ncclGroupEnd"), "#2 GroupEnd");
  EXPECT_EQ(label_of(ends[1], "ncclGroupEnd"), "#1–#2 GroupEnd");
  ASSERT_EQ(ends[1].collectives.size(), 2u);
  EXPECT_NE(ends[1].collectives[0].communicator, ends[1].collectives[1].communicator);
  EXPECT_EQ(ends[1].collectives[1].count, 0u) << "sends and receives";
  EXPECT_TRUE(ends[2].collectives.empty());
}

}  // namespace
}  // namespace ddpscope::viewer
