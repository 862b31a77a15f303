// What a search finds, how its hits are walked, and how long the chosen call takes.
#include <algorithm>
#include <set>
#include <thread>

#include "tests/gui/app_fixture.h"
#include "viewer/compare/call_durations.h"

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

}  // namespace
}  // namespace ddpscope::viewer
