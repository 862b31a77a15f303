// What is copied, comparing, notes and bookmarks.
#include <algorithm>
#include <set>
#include <thread>

#include "tests/gui/app_fixture.h"
#include "viewer/compare/comparison.h"

namespace ddpscope::viewer {
namespace {

TEST_F(AppTest, CopiesWhatIsChosen) {
  App& app = open(tests::draw_skipped_barrier(4).text);
  std::string copied;
  app.copy = [&](const std::string& text) { copied = text; };
  press(Key::kC);
  EXPECT_NE(copied.find("skipped-barrier"), std::string::npos);
  press(Key::kE);
  EXPECT_EQ(app.state().page, OverPage::kExplain);
  press(Key::kEscape);
  EXPECT_EQ(app.state().page, OverPage::kNone);
}

TEST_F(AppTest, WhatDiffersFromAnotherTraceIsAPage) {
  tests::TemporaryFolder other_folder;
  tests::SkippedBarrier faulty = tests::draw_skipped_barrier(4);
  App& app = open(faulty.text);
  auto other = tests::open_text(tests::kHealthy, other_folder);
  ASSERT_TRUE(other);
  press(Key::kX);  // with nothing
  EXPECT_EQ(app.state().page, OverPage::kNone);
  Comparison comparison = compare(app.reader(), *other, "healthy");
  EXPECT_EQ(comparison.new_findings(), app.reader().outcome().findings.size());
  EXPECT_TRUE(comparison.gone.empty());
  int before = frame();
  app.compare_with(comparison);
  EXPECT_EQ(app.state().page, OverPage::kCompare);
  EXPECT_GT(frame(), before);
  press(Key::kX);
  EXPECT_EQ(app.state().page, OverPage::kNone);
  press(Key::kX);
  press(Key::kEscape);
  EXPECT_EQ(app.state().page, OverPage::kNone);

  Comparison back = compare(*other, app.reader(), "faulty");
  EXPECT_EQ(back.new_findings(), 0u);
  ASSERT_EQ(back.gone.size(), app.reader().outcome().findings.size());
  EXPECT_EQ(back.gone.front().slug, "skipped-barrier");
}

TEST_F(AppTest, DurationsAreComparedByName) {
  // The same job, in whose second run each step's all-reduce takes three times as long to come back.
  auto job = [](const char* wait) {
    return "for r in 0..1 {\n"
           "  process r$r rank=$r world=2 until=9\n"
           "  r$r 0.100 +0.050 ncclCommInitRank communicator=1 id=0xabc rank=$r size=2 device=$r\n"
           "  for s in 0..19 every 0.100 {\n"
           "    r$r 1.000 +0.001 ncclAllReduce communicator=1 count=1000 datatype=f32 stream=0x7 "
           "buffer=0x200\n"
           "    r$r 1.002 +" +
           std::string(wait) +
           " cudaStreamSynchronize stream=0x7\n  }\n}\n"
           "for s in 0..96 every 0.010 {\n  r0 4.000 +0.001 cudaDeviceSynchronize\n}\n"
           "for s in 0..2 every 0.100 {\n  r0 6.000 +0.050 cudaDeviceSynchronize\n}\n";
  };
  tests::TemporaryFolder other_folder;
  App& app = open(job("0.030"));
  auto other = tests::open_text(job("0.010"), other_folder);
  ASSERT_TRUE(other);
  Comparison comparison = compare(app.reader(), *other, "before");
  auto change_of = [&](DurationChange::What what, std::string_view name) {
    auto found = std::find_if(comparison.durations.begin(), comparison.durations.end(),
                              [&](const DurationChange& change) {
                                return change.what == what && change.name.find(name) != std::string::npos;
                              });
    return found == comparison.durations.end() ? DurationChange{} : *found;
  };
  DurationChange wait = change_of(DurationChange::What::kCall, "cudaStreamSynchronize");
  EXPECT_NEAR(wait.factor(), 3, 0.01);
  EXPECT_EQ(wait.here.count, 40u);
  DurationChange call = change_of(DurationChange::What::kCall, "ncclAllReduce");
  EXPECT_NEAR(call.factor(), 1, 0.01);
  DurationChange transfer = change_of(DurationChange::What::kTransfer, "all-reduce of 1000 float32");
  EXPECT_TRUE(transfer.verdict().slower());
  EXPECT_GT(transfer.factor(), 2);
  DurationChange rare = change_of(DurationChange::What::kCall, "cudaDeviceSynchronize");
  EXPECT_EQ(rare.here.ns.p50, 1'000'000);
  EXPECT_EQ(rare.here.ns.p95, 1'000'000);
  EXPECT_EQ(rare.here.ns.p99, 50'000'000) << "three in a hundred are slow";
  EXPECT_NEAR(rare.tail_factor(), 1, 0.01);
  DurationChange tail{
      DurationChange::What::kStep, "steps", {50, 0, {10'000, 0, 118'000}}, {50, 0, {10'000, 0, 1'100'000}}};
  EXPECT_EQ(tail.factor(), 1);
  EXPECT_NEAR(tail.tail_factor(), 9.32, 0.01);
  EXPECT_EQ(tail.verdict().of, DurationChange::Of::kTail);
  // Collectives are told before calls, however often these are made.
  EXPECT_TRUE(std::is_sorted(comparison.durations.begin(), comparison.durations.end(),
                             [](const DurationChange& a, const DurationChange& b) {
                               constexpr auto kCall = DurationChange::What::kCall;
                               return a.what != kCall && b.what == kCall;
                             }));
  // The same trace with itself: nothing differs.
  for (const DurationChange& change : compare(*other, *other, "itself").durations)
    EXPECT_EQ(change.factor(), 1) << change.name;
}

// The last of ten waits never returns; the others are a hundred times as fast as in the other run.
TEST_F(AppTest, AHangIsNoGainHoweverFastTheRestWas) {
  auto job = [](const char* wait, const char* last) {
    return "for r in 0..1 {\n"
           "  process r$r rank=$r world=2 until=14\n"
           "  r$r 0.100 +0.050 ncclCommInitRank communicator=1 id=0xabc rank=$r size=2 device=$r\n"
           "  for s in 0..8 every 0.100 {\n    r$r 1.000 +" +
           std::string(wait) +
           " cudaStreamSynchronize stream=0x7\n    r$r 1.090 +0.005 cudaDeviceSynchronize\n  }\n  r$r "
           "4.000 " +
           last + " cudaStreamSynchronize stream=0x7\n}\n";
  };
  tests::TemporaryFolder other_folder;
  App& app = open(job("0.0006", "inside"));
  auto other = tests::open_text(job("0.060", "+0.061"), other_folder);
  ASSERT_TRUE(other);
  for (bool turned : {false, true}) {
    Comparison comparison =
        turned ? compare(*other, app.reader(), "hang") : compare(app.reader(), *other, "good");
    auto calls =
        std::find_if(comparison.durations.begin(), comparison.durations.end(),
                     [](const DurationChange& change) { return change.what == DurationChange::What::kCall; });
    ASSERT_NE(calls, comparison.durations.end());
    EXPECT_EQ(calls->name, "cudaStreamSynchronize") << "what changed most";
    EXPECT_NEAR(calls->factor(), turned ? 100 : 0.01, 0.001);
    EXPECT_EQ((turned ? calls->other : calls->here).ns.p99, 10'000'000'000) << "until the end";
    EXPECT_TRUE(calls->verdict().slower());
    EXPECT_EQ(calls->verdict().of, turned ? DurationChange::Of::kMedian : DurationChange::Of::kTail);
  }
}

// Of ranks whose rows are shown.
std::vector<std::int32_t> ranks_shown(const App& app) {
  std::vector<std::int32_t> ranks;
  for (const Row& row : app.rows())
    if (row.kind == RowKind::kRank) ranks.push_back(app.reader().ranks()[row.index].rank);
  return ranks;
}

TEST_F(AppTest, OnlyRanksThatATextAsksForAreShown) {
  App& app = open(tests::healthy_ranks(12));
  ASSERT_EQ(ranks_shown(app).size(), 12u);
  auto type = [&](const char* text) {
    app.state().row_filter.text = text;
    frame();
    return ranks_shown(app);
  };
  EXPECT_EQ(type("3"), (std::vector<std::int32_t>{3}));
  EXPECT_EQ(type("10-11, 0 ,"), (std::vector<std::int32_t>{0, 10, 11}));
  EXPECT_EQ(type("2-4,3,99"), (std::vector<std::int32_t>{2, 3, 4}));
  for (const char* vain : {"99", "4-2", "no such host", "3-", "-1", "3x"}) {
    EXPECT_EQ(type(vain).size(), 12u) << vain;
    EXPECT_TRUE(app.state().row_filter.in_vain) << vain;
  }
  std::string process = app.reader().ranks()[5].process;
  EXPECT_EQ(type(process.c_str()), (std::vector<std::int32_t>{5}));
  std::string host = process.substr(0, process.find(':'));
  for (char& letter : host) letter = static_cast<char>(std::toupper(letter));
  EXPECT_EQ(type(host.c_str()).size(), 12u);
  EXPECT_FALSE(app.state().row_filter.in_vain);
  type("3");
  press(Key::kEscape);
  EXPECT_EQ(ranks_shown(app).size(), 12u);
  press(Key::kL);
  EXPECT_TRUE(app.state().row_filter.open);
  press(Key::kEscape);
  EXPECT_FALSE(app.state().row_filter.open);
}

TEST_F(AppTest, NothingThatIsTypedIsLost) {
  App& app = open(tests::healthy_ranks(12));
  app.keys().press({Key::kL, false, false});
  ImGui::GetIO().AddInputCharacter('l');  // the key is a character, too
  frame();
  for (char letter : std::string("10-11")) {
    app.keys().press({static_cast<Key>(letter), false, false});
    ImGui::GetIO().AddInputCharacter(static_cast<unsigned>(letter));
    frame();
  }
  for (int i = 0; i < 4; ++i) frame();
  EXPECT_EQ(app.state().row_filter.text, "10-11");
  EXPECT_EQ(ranks_shown(app), (std::vector<std::int32_t>{10, 11}));
  EXPECT_EQ(app.state().evidence, kNoneChosen);
}

TEST_F(AppTest, AFilterKeepsToTheFindingsRanksWhereOnlyThoseAreShown) {
  auto job = tests::draw_skipped_barrier(5);
  App& app = open(job.text);
  press(Key::kR);
  std::vector<std::int32_t> concerned = ranks_shown(app);
  app.state().row_filter.text = std::to_string(job.faulty);
  frame();
  EXPECT_EQ(ranks_shown(app), (std::vector<std::int32_t>{job.faulty}));
  press(Key::kR);
  EXPECT_EQ(ranks_shown(app), (std::vector<std::int32_t>{job.faulty}));
  press(Key::kR);
  app.state().row_filter.text.clear();
  frame();
  EXPECT_EQ(ranks_shown(app), concerned);
}

TEST_F(AppTest, AFindingThatIsPickedShowsItsRanksAlone) {
  // Of six ranks two write one file at once.
  App& app = open(
      "for r in 0..5 {\n"
      "  process r$r rank=$r world=6 pid=${100+r} until=9\n"
      "  r$r 0.100 +0.050 ncclCommInitRank communicator=1 id=0xabc rank=$r size=6 device=$r\n}\n"
      "for r in 2..3 {\n"
      "  r$r ${2+r*0.004} +0.001 open path=\"/run/a.bin\" flags=wronly|creat|trunc file=1 stack=\"save.py:12 "
      "save\"\n"
      "  r$r ${2.002+r*0.004} +0.030 write file=1 offset=0 bytes=512K next=512K\n"
      "  r$r ${2.034+r*0.004} +0.001 close file=1\n}\n");
  if (app.reader().outcome().findings.empty()) GTEST_FAIL() << "nothing is found";
  EXPECT_EQ(ranks_shown(app).size(), 6u);  // when it opens all are there
  press(Key::kN);
  EXPECT_EQ(ranks_shown(app), (std::vector<std::int32_t>{2, 3}));
  press(Key::kR);
  EXPECT_EQ(ranks_shown(app).size(), 6u);
}

TEST_F(AppTest, ANoteIsTypedAtABookmarkAndKept) {
  App& app = open(tests::kHealthy);
  std::vector<Bookmark> kept;
  app.bookmarks_changed = [&](const std::vector<Bookmark>& all) { kept = all; };
  press(Key::kB);  // there was none: it is made
  ASSERT_EQ(app.state().bookmarks.size(), 1u);
  ASSERT_EQ(app.state().noting, 0u);
  app.state().bookmarks[0].note = "here it stalls";
  app.end_note();
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].note, "here it stalls");
  frame();
  press(Key::kB);  // the same one again
  EXPECT_EQ(app.state().bookmarks.size(), 1u);
  press(Key::kEscape);
  EXPECT_FALSE(app.state().noting);
}

TEST_F(AppTest, BookmarksComeAndGo) {
  App& app = open(tests::kHealthy);
  press(Key::kM);
  EXPECT_EQ(app.state().bookmarks.size(), 1u);
  press(Key::kM);
  EXPECT_TRUE(app.state().bookmarks.empty());
}

}  // namespace
}  // namespace ddpscope::viewer
