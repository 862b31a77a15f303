// What keys and mouse do, without OpenGL: a context with an atlas, its input written by hand.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "tests/gui/app_fixture.h"

namespace ddpscope::viewer {
namespace {

TEST_F(AppTest, OpensWithTheWorstFindingInTheMiddle) {
  for (unsigned seed : {1u, 2u, 3u}) {
    tests::TemporaryFolder folder;
    auto job = tests::draw_skipped_barrier(seed);
    auto reader = tests::open_text(job.text, folder);
    ASSERT_TRUE(reader);
    app_ = std::make_unique<App>(std::move(*reader), AppOptions{});
    frame();
    ASSERT_EQ(app_->state().finding, 0u);
    EXPECT_EQ(app_->reader().outcome().findings[0].slug, "skipped-barrier");
    TimeView view = app_->time_view();
    float x = view.x_of(job.early_ns);
    EXPECT_GT(x, view.left + view.width * 0.1f) << seed;
    EXPECT_LT(x, view.right() - view.width * 0.1f) << seed;
    EXPECT_TRUE(app_->story().at_fault(app_->reader().row_of_rank(job.faulty)));
    EXPECT_EQ(app_->story().fault_rows.size(), 1u);
  }
}

TEST_F(AppTest, TheDiscOfTheFaultyRankStandsInItsRow) {
  auto job = tests::draw_skipped_barrier(7);
  App& app = open(job.text);
  std::size_t row = row_of_rank(app.rows(), app.reader(), app.reader().row_of_rank(job.faulty));
  Box box = app.placing().row_box(row, app.panes().plot_of(app.panes().lanes));
  bool found = false;
  for (std::size_t i = 0; i < app.story().discs.size(); ++i) {
    if (app.story().discs[i].rank_row != app.reader().row_of_rank(job.faulty)) continue;
    found = true;
    EXPECT_NEAR(app.disc_points()[i].x, app.time_view().x_of(job.early_ns), 1.5);
    EXPECT_TRUE(box.contains(app.disc_points()[i]));
  }
  EXPECT_TRUE(found);
}

TEST_F(AppTest, TheWheelZoomsAtTheCursorAndKeysInTheMiddle) {
  App& app = open(tests::draw_skipped_barrier(1).text);
  Point at = in_plot(0.3f, 0.5f);
  move(at);
  std::int64_t before = app.time_view().t_of(at.x);
  double scale = app.time_view().ns_per_px();
  turn_wheel(ImGui::GetIO(), 1);
  frame();
  EXPECT_NEAR(app.time_view().ns_per_px() / scale, 0.8, 0.01);
  EXPECT_NEAR(static_cast<double>(app.time_view().t_of(at.x) - before), 0, scale);
  press(Key::kS);
  EXPECT_NEAR(app.time_view().ns_per_px() / scale, 1, 0.01);
  for (auto [key, factor] :
       {std::pair(&ImGuiIO::KeyCtrl, std::sqrt(0.8)), std::pair(&ImGuiIO::KeyShift, 0.512)}) {
    scale = app.time_view().ns_per_px();
    ImGui::GetIO().*key = true;
    turn_wheel(ImGui::GetIO(), 1);
    frame();
    ImGui::GetIO().*key = false;
    EXPECT_NEAR(app.time_view().ns_per_px() / scale, factor, 0.01);
  }
}

TEST_F(AppTest, DraggingMeasuresPansAndZooms) {
  App& app = open(tests::draw_skipped_barrier(1).text);
  TimeView view = app.time_view();
  drag(Button::kLeft, in_plot(0.25f, 0.9f), in_plot(0.5f, 0.9f));
  ASSERT_TRUE(app.state().measured);
  EXPECT_NEAR(static_cast<double>(app.state().measured->length()) / static_cast<double>(view.shown.length()),
              0.25, 0.01);
  press(Key::kEscape);
  EXPECT_FALSE(app.state().measured);
  drag(Button::kRight, in_plot(0.5f, 0.9f), in_plot(0.6f, 0.9f));
  EXPECT_NEAR(static_cast<double>(view.shown.from_ns - app.state().shown.from_ns) /
                  static_cast<double>(view.shown.length()),
              0.1, 0.01);
  TimeSpan before = app.state().shown;
  drag(Button::kMiddle, in_plot(0.4f, 0.9f), in_plot(0.6f, 0.9f));
  EXPECT_NEAR(static_cast<double>(app.state().shown.length()) / static_cast<double>(before.length()), 0.2,
              0.01);
  EXPECT_FALSE(app.state().measured);
}

TEST_F(AppTest, AnEvidencesNumberGoesThere) {
  App& app = open(tests::draw_skipped_barrier(3).text);
  press(Key::kHome);
  press(Key::k1);
  EXPECT_EQ(app.state().evidence, 0u);
  TimeView view = app.time_view();
  press(Key::k9);  // there are not as many
  EXPECT_EQ(app.state().evidence, 0u);
  EXPECT_EQ(app.time_view().shown, view.shown);
}

TEST_F(AppTest, CardsAndListEntriesCanBeClicked) {
  App& app = open(tests::draw_skipped_barrier(3).text);
  Box drawer = app.panes().drawer;
  click({drawer.left + 60, drawer.top + 150});
  EXPECT_EQ(app.state().evidence, 0u);
  press(Key::kHome);
  TimeSpan whole = app.state().shown;
  click({app.panes().list.left + 80, app.panes().list.top + 100});
  EXPECT_EQ(app.state().finding, 0u);
  EXPECT_LT(app.state().shown.length(), whole.length());
}

TEST_F(AppTest, FoldingARankMakesItLowerAndChangesNoOther) {
  App& app = open(tests::kHealthy);
  auto heights = [&] {
    std::vector<float> all;
    for (const Row& row : app.rows()) all.push_back(row.height);
    return all;
  };
  auto before = heights();
  std::size_t row = row_of_rank(app.rows(), app.reader(), app.reader().row_of_rank(1));
  Box box = app.placing().row_box(row, app.panes().plot_of(app.panes().lanes));
  click({app.panes().lanes.left + 30, box.middle_y()});
  auto after = heights();
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (i == row)
      EXPECT_LT(after[i], before[i]);
    else
      EXPECT_EQ(after[i], before[i]);
  }
}

// A step with its phases, and within one of these what it calls.
TEST_F(AppTest, ARangeStandsBelowTheOneThatItIsIn) {
  std::string text =
      "process r0 rank=0 world=1 until=4\n"
      "r0 0.900 +0.001 cudaStreamSynchronize stream=0x7\n";
  const char* const kNames[] = {"step", "forward", "layer 1", "attention", "softmax"};
  for (int depth = 0; depth < 5; ++depth) {
    text += fmt::format("r0 1.{0}00 +0.000001 nvtxRangePush name=\"{1}\"\n", depth, kNames[depth]);
    text += fmt::format("r0 1.{}50 +0.000001 nvtxRangePop\n", 9 - depth);
  }
  text += "r0 2.000 +0.000001 nvtxRangePush name=\"save\"\nr0 2.500 +0.000001 nvtxRangePop\n";
  App& app = open(text);
  float below = 0;
  const Row& row = app.rows().back();
  for (std::size_t depth = 0; depth < 4; ++depth) {
    ASSERT_LT(depth, row.parts.size());
    const RowPart& part = row.parts[depth];
    EXPECT_EQ(part.label, depth == 0 ? "ranges" : "");
    EXPECT_GE(part.top, below);
    below = part.top + part.height;
    ASSERT_EQ(part.tracks.size(), 1u);
    merged::Event event = app.reader().event({part.tracks[0], 0});
    EXPECT_EQ(app.reader().names()[event.name].text, kNames[depth]);
    EXPECT_EQ(app.reader().tracks()[part.tracks[0]].events, depth == 0 ? 2u : 1u);
  }
  ASSERT_EQ(row.parts.size(), 5u) << "four of ranges, one of calls";
  EXPECT_EQ(row.parts[4].label, "host");
}

TEST_F(AppTest, RowsStandWhereTheyAreWhateverIsInView) {
  App& app = open(tests::draw_skipped_barrier(2).text);
  auto heights = [&] {
    std::vector<float> all;
    for (const Row& row : app.rows()) all.push_back(row.height);
    return all;
  };
  auto before = heights();
  for (Key key : {Key::kHome, Key::kW, Key::kW, Key::kD, Key::kD, Key::kD, Key::kS}) {
    press(key);
    EXPECT_EQ(heights(), before);
  }
}

TEST_F(AppTest, OnlyTheRanksOfTheFindingAndBack) {
  App& app = open(tests::draw_shared_file(5).text);
  std::size_t all = app.rows().size();
  press(Key::kR);
  EXPECT_LE(app.rows().size(), all);
  EXPECT_TRUE(app.state().only_concerned);
  press(Key::kEscape);
  EXPECT_EQ(app.rows().size(), all);
}

TEST_F(AppTest, AFileOfSeveralWritersHasALane) {
  auto job = tests::draw_shared_file(5);
  App& app = open(job.text);
  ASSERT_EQ(app.reader().outcome().findings[0].slug, "duplicate-checkpoint-write");
  EXPECT_EQ(app.story().lane, StoryLane::kFile);
  EXPECT_EQ(app.story().file, job.path);
  ASSERT_EQ(app.story().lines.size(), static_cast<std::size_t>(job.ranks));
  for (const FileLine& line : app.story().lines) {
    EXPECT_TRUE(line.writes);
    EXPECT_FALSE(line.accesses.empty());
  }
  ASSERT_FALSE(app.story().arrows.empty());
  EXPECT_EQ(app.story().arrows[0].kind, ArrowKind::kUnordered);
  EXPECT_TRUE(app.story().focus.contains(job.write_ns));
}

TEST_F(AppTest, PanesOpenAndCloseByKey) {
  App& app = open(tests::kHealthy);
  float lanes = app.panes().lanes.height();
  press(Key::kQ);
  frame();
  EXPECT_GT(app.panes().lanes.height(), lanes);
  press(Key::kQuestion);
  EXPECT_TRUE(app.state().help);
  press(Key::kEscape);
  EXPECT_FALSE(app.state().help);
  press(Key::kF, false, true);
  EXPECT_TRUE(app.state().search.open);
}

TEST_F(AppTest, TheSplittersStayWithinTheirLimits) {
  App& app = open(tests::kHealthy);
  Box splitter = app.panes().list_splitter;
  drag(Button::kLeft, {splitter.middle_x(), 300}, {1500, 300});
  frame();
  EXPECT_EQ(app.state().sizes.list_width, 520);
  splitter = app.panes().drawer_splitter;
  drag(Button::kLeft, {900, splitter.middle_y()}, {900, 890});
  EXPECT_EQ(app.state().sizes.drawer_height, 120);
}

TEST_F(AppTest, AHealthyJobSaysSoAndIsDrawn) {
  App& app = open(tests::kHealthy);
  EXPECT_EQ(app.state().finding, merged::kNone);
  EXPECT_GT(frame(), 1000);
  for (Key key : {Key::kN, Key::kF, Key::k1, Key::kR, Key::kPeriod, Key::kC, Key::kE, Key::kEnter, Key::kP})
    press(key);
  EXPECT_EQ(app.state().finding, merged::kNone);
}

TEST_F(AppTest, OneRankAndEventsOfNoLengthCanBeZoomedInto) {
  App& app = open(tests::kOneRank);
  move(in_plot(0.5f, 0.5f));
  for (int i = 0; i < 200; ++i) press(Key::kW);
  EXPECT_EQ(app.state().shown.length(), kShortestShownNs);
  for (int i = 0; i < 200; ++i) press(Key::kS);
  EXPECT_GT(frame(), 1000);
}

TEST_F(AppTest, ManyRanksShareTheirHostsRow) {
  App& app = open(tests::healthy_ranks(100));
  std::size_t hosts = 0, ranks = 0;
  for (const Row& row : app.rows()) hosts += row.kind == RowKind::kHost, ranks += row.kind == RowKind::kRank;
  EXPECT_EQ(hosts, 1u);
  EXPECT_EQ(ranks, 0u);
  app.act({ActionKind::kTurnHost, 0});
  std::size_t strips = 0;
  for (const Row& row : app.rows()) strips += row.kind == RowKind::kRankStrip;
  EXPECT_EQ(strips, 100u);
  EXPECT_GT(frame(), 1000);
}

TEST_F(AppTest, AnotherScaleMovesEverythingInProportion) {
  App& app = open(tests::kHealthy);
  float gutter = app.panes().plot_left - app.panes().lanes.left;
  press(Key::kPlus, false, true);
  EXPECT_TRUE(app.wants_fonts());
  frame();
  EXPECT_NEAR(app.panes().plot_left - app.panes().lanes.left, gutter * 1.1f, 1.5);
}

TEST_F(AppTest, HoveringOverEverythingDrawsItsTooltip) {
  App& app = open(tests::draw_skipped_barrier(6).text);
  int most = 0, least = 1 << 30;
  for (float y = 0.02f; y < 1; y += 0.04f)
    for (float x : {0.2f, 0.5f, 0.8f}) {
      move(in_plot(x, y));
      int vertices = 0;
      for (int i = 0; i < 14; ++i) {
        vertices = frame();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));  // what is told comes by another thread
      }
      most = std::max(most, vertices), least = std::min(least, vertices);
    }
  EXPECT_GT(most, least + 300);  // a box of text where an event is
  EXPECT_EQ(app.state().event, merged::kNoEvent);
}

TEST_F(AppTest, AnotherThreadMakesLabels) {
  App& app = open(tests::draw_skipped_barrier(1).text);
  Labels labels(app.reader());
  std::uint32_t host = 0;
  while (app.reader().tracks()[host].kind != merged::TrackKind::kHost) ++host;
  merged::EventPlace place{host, 1};
  WalkBudget unlimited = WalkBudget::unlimited();
  std::string whole = Labels(app.reader()).of(place, unlimited), first, now;
  for (int i = 0; i < 2000 && now != whole; ++i) {
    WalkBudget budget = WalkBudget::of(std::chrono::microseconds(3000));
    now = labels.of(place, budget);
    EXPECT_TRUE(budget.complete() || now != whole || i == 0);
    if (i == 0) first = now;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_NE(first, whole);  // plain, and nobody waited
  EXPECT_EQ(now, whole);
}

// Four bytes to pageable memory, behind what the stream waits for; a gigabyte takes its time.
TEST_F(AppTest, ACopyThatIsHeldUpWaits) {
  App& app = open(
      "process r0 rank=0 world=1 pid=100 until=9\n"
      "r0 0.5 +0.00005 cudaMemcpyAsync kind=d2h bytes=4 stream=0x7\n"
      "r0 1.0 +3.0 cudaMemcpyAsync kind=d2h bytes=4 stream=0x7\n"
      "r0 5.0 +0.5 cudaMemcpy kind=h2d bytes=1G stream=0\n");
  std::vector<merged::Kind> kinds;
  for (std::uint32_t track = 0; track < app.reader().tracks().size(); ++track)
    if (app.reader().tracks()[track].kind == merged::TrackKind::kHost)
      for (std::uint64_t i = 0; i < app.reader().tracks()[track].events; ++i)
        kinds.push_back(app.reader().event({track, i}).kind);
  using merged::Kind;
  EXPECT_EQ(kinds, (std::vector{Kind::kCopy, Kind::kWait, Kind::kCopy}));
}

TEST_F(AppTest, WhatOnlyFollowsLeadsToItsCause) {
  App& app = open(tests::golden("skipped-barrier/speaks-one-more", 4));
  const auto& all = app.reader().outcome().findings;
  ASSERT_EQ(all.at(0).slug, "skipped-barrier");
  ASSERT_FALSE(all[0].consequences.empty());
  EXPECT_TRUE(app.go_to("hung-collective"));
  EXPECT_EQ(app.state().finding, 0u);
  EXPECT_FALSE(app.go_to("straggler"));
}

// The names of what is unjudged come before the reasons, which may have no room.
TEST_F(AppTest, WhatIsUnjudgedIsNamedFirst) {
  EXPECT_EQ(coverage_text({"who of ranks 0, 1, 2 and 3 is late", "the job is short", {"straggler", "x"}}),
            "unjudged straggler, x: who of ranks 0–3 is late: the job is short");
  EXPECT_EQ(coverage_text({"a", "b", {}}), "a: b");
}

TEST(PanelTextTest, APlaceIsThatOfReportsAndToldOnce) {
  findings::Finding finding;
  finding.ranks = {1};
  for (std::int32_t rank : {0, 1}) {
    findings::Evidence evidence;
    evidence.rank = rank;
    evidence.stack = {fmt::format("/home/me/{}.cpp:{} f", rank ? "at_fault" : "other", 7 + rank)};
    finding.evidence.push_back(evidence);
  }
  finding.title = "rank 1 does something else";
  EXPECT_EQ(place_beside_title(finding), "at_fault.cpp:8");
  finding.title += " at at_fault.cpp:8 f";
  EXPECT_EQ(place_beside_title(finding), "");
}

TEST_F(AppTest, TheNoteOfASkippedBarrierNamesTheCallInstead) {
  App& app = open(
      "for r in 0..2 {\n"
      "  process r$r rank=$r world=3 pid=${100+r} until=30\n"
      "  r$r 0.100 +0.050 ncclCommInitRank communicator=1 id=0xabc rank=$r size=3 device=$r\n"
      "  r$r 1.000 +0.001 ncclAllReduce communicator=1 count=1M datatype=f32 stream=0x7 buffer=0x300 "
      "stack=\"train.py:40 step\"\n"
      "  r$r 1.010 +0.001 cudaStreamSynchronize stream=0x7\n}\n"
      "for r in 0..1 {\n"
      "  r$r 2.000 +0.001 ncclAllReduce communicator=1 count=1 datatype=f32 stream=0x7 buffer=0x100 "
      "stack=\"data.py:88 prepare\"\n"
      "  r$r 2.002 inside cudaStreamSynchronize stream=0x7\n}\n"
      "r2 1.900 +0.001 ncclBroadcast communicator=1 count=64K datatype=f32 peer=0 stream=0x7 buffer=0x200 "
      "stack=\"train.py:41 load\"\n"
      "r2 1.902 inside cudaStreamSynchronize stream=0x7\n");
  ASSERT_EQ(app.reader().outcome().findings.at(0).slug, "skipped-barrier");
  ASSERT_EQ(app.story().notes.size(), 1u);
  EXPECT_NE(app.story().notes[0].lines.at(1).find("its #1 is: broadcast"), std::string::npos)
      << app.story().notes[0].lines[1];
}

}  // namespace
}  // namespace ddpscope::viewer
