// Search, what is copied, comparing, notes and bookmarks.
#include <algorithm>
#include <set>
#include <thread>

#include "tests/gui/app_fixture.h"
#include "viewer/compare/call_durations.h"
#include "viewer/compare/comparison.h"

namespace ddpscope::viewer {
namespace {

TEST_F(AppTest, SearchFindsCallsRanksAndFindings) {
  App& app = open(tests::draw_skipped_barrier(4).text);
  app.state().search.open = true;
  auto search = [&](const char* text) {
    app.state().search.text = text;
    frame();
    return app.state().search.hits;
  };
  auto finds = [](const std::vector<SearchHit>& hits, SearchHit::What what) {
    return std::any_of(hits.begin(), hits.end(), [&](const SearchHit& hit) { return hit.what == what; });
  };
  std::uint64_t calls = 0;
  for (const SearchHit& hit : search("cudastreamsync")) calls += hit.count;
  EXPECT_EQ(calls, static_cast<std::uint64_t>(tests::draw_skipped_barrier(4).ranks));
  EXPECT_EQ(search("skipped").front().what, SearchHit::What::kFinding);
  EXPECT_TRUE(finds(search("rank 1"), SearchHit::What::kRank));
  EXPECT_TRUE(search("no such thing").empty());
}

TEST_F(AppTest, NoTwoHitsOfASearchReadAlike) {
  App& app = open(
      "for r in 0..1 {\n"
      "  process r$r rank=$r world=2 pid=${100+r} until=4\n"
      "  r$r 0.1 +0.05 ncclCommInitRank communicator=1 id=0xabc rank=$r size=2 device=$r\n"
      "  r$r 1.0 +0.001 ncclAllReduce communicator=1 count=1 datatype=f32 stream=0x7 buffer=0x100 "
      "stack=\"data.py:88 prepare\"\n"
      "  r$r 1.1 +0.01 cudaStreamSynchronize stream=0x7\n"
      "  r$r 2.0 +0.001 ncclAllReduce communicator=1 count=4M datatype=f32 stream=0x7 buffer=0x900\n"
      "  r$r 2.1 +0.01 cudaStreamSynchronize stream=0x7\n"
      "  r$r 2.2 +0.01 cudaMemcpy kind=d2h bytes=4 source=0x900\n"
      "}\n");
  app.state().search.open = true;
  app.state().search.text = "allreduce";
  frame();
  std::set<std::string> texts;
  for (const SearchHit& hit : app.state().search.hits) texts.insert(hit.text);
  EXPECT_EQ(texts.size(), app.state().search.hits.size());
  EXPECT_EQ(texts.size(), 4u);  // two kinds on two ranks
  EXPECT_TRUE(texts.contains("ncclAllReduce (barrier)  rank 0"));
  // Whoever closes it begins anew.
  press(Key::kEscape);
  EXPECT_FALSE(app.state().search.open);
  app.act({ActionKind::kOpenSearch, 0});
  frame();
  EXPECT_EQ(app.state().search.text, "");
  EXPECT_TRUE(app.state().search.hits.empty());
}

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

TEST_F(AppTest, HitsAreWalked) {
  App& app = open(tests::draw_skipped_barrier(4).text);
  app.state().search.open = true;
  app.state().search.text = "cudastreamsync";
  frame();
  const auto& search = app.state().search;
  ASSERT_GE(search.hits.size(), 2u);
  std::set<merged::EventPlace> seen;
  for (std::size_t i = 0; i < search.hits.size(); ++i) {
    app.walk_hits(1);
    settle();
    EXPECT_EQ(search.chosen, i);
    seen.insert(app.state().event);
  }
  EXPECT_EQ(seen.size(), search.hits.size());  // each rank's own call
  app.walk_hits(1);
  EXPECT_EQ(search.chosen, 0u);
  app.walk_hits(-1);
  EXPECT_EQ(search.chosen, search.hits.size() - 1);
  EXPECT_TRUE(app.state().search.open);
}

TEST_F(AppTest, HitsAreOfAllRanksAndTheChosenOneIsInView) {
  App& app = open(tests::healthy_ranks(210));
  app.state().search.open = true;
  app.state().search.text = "ncclAllReduce";
  frame();
  const auto& search = app.state().search;
  std::set<std::uint32_t> rows;
  for (const SearchHit& hit : search.hits) rows.insert(hit.rank_row);
  EXPECT_EQ(rows.size(), 210u);
  auto in_view = [&] {
    return search.first_shown <= search.chosen && search.chosen < search.first_shown + search.shown;
  };
  ASSERT_LT(search.shown, 20u);
  for (int i = 0; i < 20; ++i) {
    app.walk_hits(1);
    frame();
    EXPECT_TRUE(in_view()) << search.chosen;
  }
  EXPECT_EQ(search.chosen, 19u);
  for (int i = 0; i < 25; ++i) app.walk_hits(-1);
  settle();
  EXPECT_TRUE(in_view()) << search.chosen;
  // By the wheel, up to the last.
  Point over{kWidth - 100, 100};
  move(over);
  std::int64_t shown_ns = app.state().shown.length();
  for (int i = 0; i < 500; ++i) {
    ImGui::GetIO().MouseWheel = 1;
    frame();
  }
  EXPECT_EQ(search.first_shown, 0u);
  for (int i = 0; i < 500; ++i) {
    ImGui::GetIO().MouseWheel = -1;
    frame();
  }
  EXPECT_EQ(search.first_shown + search.shown, search.hits.size());
  EXPECT_EQ(app.state().shown.length(), shown_ns) << "the lanes below do not zoom";
}

TEST_F(AppTest, AFileOfAFindingIsFoundByItsName) {
  tests::SharedFile job = tests::draw_shared_file(3);
  App& app = open(job.text);
  app.state().search.open = true;
  app.state().search.text = job.path.substr(job.path.rfind('/') + 1);
  frame();
  const auto& hits = app.state().search.hits;
  std::set<std::uint32_t> rows;
  for (const SearchHit& hit : hits)
    if (hit.what == SearchHit::What::kFile) rows.insert(hit.rank_row);
  EXPECT_EQ(rows.size(), static_cast<std::size_t>(job.ranks));
  for (const SearchHit& hit : std::vector(hits)) {
    app.walk_hits(1);
    settle();
    if (hit.what != SearchHit::What::kFile) continue;
    auto detail = app.reader().detail(app.state().event);
    ASSERT_TRUE(detail);
    EXPECT_EQ(detail->file, job.path);
    EXPECT_EQ(app.reader().tracks()[app.state().event.track].rank_row, hit.rank_row);
  }
}

TEST(CallDurationsTest, BucketsBeginWhereTheySay) {
  EXPECT_EQ(duration_bucket(0), 0u);
  EXPECT_EQ(duration_bucket(99), 0u);
  for (std::size_t i = 1; i < kDurationBuckets; ++i) {
    EXPECT_EQ(duration_bucket(bucket_begin_ns(i)), i);
    EXPECT_EQ(duration_bucket(bucket_begin_ns(i) - 1), i - 1);
  }
  EXPECT_EQ(bucket_begin_ns(4), 1000);  // three a decade from 100 ns on
  EXPECT_EQ(duration_bucket(INT64_MAX), kDurationBuckets - 1);
}

TEST_F(AppTest, TheChosenCallsDurationsAreCounted) {
  // Rank 1 waits ten times as long as rank 0.
  App& app = open(
      "for r in 0..1 {\n"
      "  process r$r rank=$r world=2 until=9\n"
      "  r$r 0.100 +0.050 ncclCommInitRank communicator=1 id=0xabc rank=$r size=2 device=$r\n}\n"
      "for s in 0..9 every 0.100 {\n"
      "  r0 1.000 +0.002 cudaStreamSynchronize stream=0x7\n"
      "  r1 1.000 +0.020 cudaStreamSynchronize stream=0x7\n}\n");
  auto names = app.reader().find_names("cudaStreamSynchronize");
  ASSERT_EQ(names.size(), 1u);
  CallDurations durations = durations_of(app.reader(), {names[0], app.reader().row_of_rank(1)});
  EXPECT_EQ(durations.count, 20u);
  EXPECT_EQ(durations.looked_at, 20u);
  EXPECT_EQ(durations.all[duration_bucket(2'000'000)], 10u);
  EXPECT_EQ(durations.all[duration_bucket(20'000'000)], 10u);
  EXPECT_EQ(durations.on_rank[duration_bucket(2'000'000)], 0u);
  EXPECT_EQ(durations.on_rank[duration_bucket(20'000'000)], 10u);
  EXPECT_FALSE(durations.within);
  // Begun in the stretch, not before it and not behind it: three steps of either rank.
  CallDurations some =
      durations_of(app.reader(), {names[0], app.reader().row_of_rank(1), {1'050'000'000, 1'350'000'000}});
  EXPECT_TRUE(some.within);
  EXPECT_EQ(some.count, 6u);
  EXPECT_EQ(some.on_rank[duration_bucket(20'000'000)], 3u);

  app.state().search.open = true;
  app.state().search.text = "cudastreamsync";
  int alone = frame(), with = alone;
  for (int i = 0; i < 200 && with < alone + 20; ++i) {  // they come by another thread
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    with = frame();
  }
  EXPECT_GT(with, alone + 20);
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
