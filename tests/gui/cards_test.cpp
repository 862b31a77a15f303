// Which evidence has a card, whose is an accusation, and how sentences are shortened.
#include "viewer/story/cards.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/gui/app_fixture.h"
#include "viewer/panels/panel_frame.h"
#include "viewer/story/story.h"

namespace ddpscope::viewer {
namespace {

constexpr auto kNothing = static_cast<std::size_t>(-1);

// The last of `ranks` issues one all-reduce fewer, and then a barrier.
std::string uneven(int ranks) {
  return fmt::format(
      "let reduce = ncclAllReduce communicator=1 count=250000 datatype=f32 stream=0x7 buffer=0x200 "
      "stack=\"ddp.py:5 reduce\"\n"
      "for r in 0..{0} {{\n"
      "  process r$r rank=$r world={1} pid=${{100+r}} until=9\n"
      "  r$r 0.100 +0.050 ncclCommInitRank communicator=1 id=0xabc rank=$r size={1} device=$r\n"
      "  r$r 1.000 +0.001 $reduce\n"
      "  r$r 1.010 +0.010 cudaStreamSynchronize stream=0x7\n"
      "}}\n"
      "for r in 0..{2} {{\n"
      "  r$r 2.000 +0.001 $reduce\n"
      "  r$r 2.010 inside cudaStreamSynchronize stream=0x7\n"
      "}}\n"
      "r{0} 2.100 +0.001 ncclBroadcast communicator=1 count=64K datatype=f32 peer=0 stream=0x7 buffer=0x300\n"
      "r{0} 2.110 inside cudaStreamSynchronize stream=0x7\n",
      ranks - 1, ranks, ranks - 2);
}

// Three ranks read what the fourth deletes: all four are named, so none is accused.
TEST(CardsTest, OfTwoThatNothingOrdersBothAreInSight) {
  findings::Finding finding;
  finding.ranks = {0, 1, 2, 3};
  for (const char* call : {"open", "open", "open", "remove"}) {
    findings::Evidence evidence;
    evidence.rank = static_cast<std::int32_t>(finding.evidence.size());
    evidence.call = call;
    finding.evidence.push_back(evidence);
  }
  using Shown = std::vector<std::size_t>;
  EXPECT_EQ(cards_in_sight(finding, 3, kNothing, 4), (Shown{0, 1, 2}));
  finding.order.emplace_back();
  EXPECT_EQ(cards_in_sight(finding, 2, kNothing, 4), (Shown{0, 3}));
  EXPECT_EQ(cards_in_sight(finding, 3, kNothing, 4), (Shown{0, 1, 3}));
  EXPECT_EQ(cards_in_sight(finding, 3, 2, 4), (Shown{0, 2, 3}));
}

TEST(CardsTest, TheOddOnesCardIsInSightHoweverManyOthersThereAre) {
  for (int ranks : {3, 8, 16, 48}) {
    tests::TemporaryFolder folder;
    auto reader = tests::open_text(uneven(ranks), folder);
    ASSERT_TRUE(reader);
    const findings::Finding& finding = reader->outcome().findings.at(0);
    ASSERT_EQ(finding.ranks, std::vector<std::int32_t>{ranks - 1});
    std::size_t odd = finding.evidence.size() - 1;
    ASSERT_EQ(finding.evidence[odd].rank, ranks - 1) << ranks;
    auto all = static_cast<std::size_t>(ranks);
    for (std::size_t room : {1u, 2u, 3u, 5u, 20u})
      for (std::size_t chosen : {kNothing, std::size_t{0}, std::size_t{1}}) {
        auto shown = cards_in_sight(finding, room, chosen, all);
        EXPECT_EQ(shown.size(), std::min(room, finding.evidence.size()));
        std::set<std::size_t> set(shown.begin(), shown.end());
        EXPECT_TRUE(chosen == kNothing || set.contains(chosen));
        EXPECT_TRUE(set.contains(odd) || (room < 3 && chosen != kNothing)) << room << " " << chosen;
        EXPECT_TRUE(std::is_sorted(shown.begin(), shown.end()));
      }
    // The last call in which all agree is of the odd one, too, and no accusation.
    ASSERT_EQ(finding.evidence[0].rank, ranks - 1);
    EXPECT_FALSE(accuses(finding, 0, all));
    EXPECT_FALSE(accuses(finding, 1, all));
    EXPECT_TRUE(accuses(finding, odd, all));
  }
}

TEST(CardsTest, OfAllNoneStandsOut) {
  findings::Finding finding;
  finding.ranks = {0, 1};
  finding.evidence.resize(4);
  for (std::int32_t i = 0; i < 4; ++i) finding.evidence[static_cast<std::size_t>(i)].rank = i % 2;
  EXPECT_FALSE(accuses(finding, 0, 2));
  EXPECT_TRUE(accuses(finding, 0, 3));
  EXPECT_EQ(cards_in_sight(finding, 2, 9, 2), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(cards_in_sight(finding, 2, 3, 2), (std::vector<std::size_t>{0, 3}));
  EXPECT_TRUE(cards_in_sight(finding, 0, 3, 2).empty());
}

TEST(CardsTest, EvidenceHasCardsWhereThereIsRoomElseAList) {
  for (bool order : {false, true})
    for (float width = 500; width < 2600; width += 37)
      for (std::size_t evidence : {0u, 1u, 2u, 4u, 7u, 16u}) {
        DrawerParts parts = share_drawer(width, evidence, order);
        std::size_t slots = parts.cards + parts.list;
        float cards = static_cast<float>(slots) * (parts.card + kCardGap);
        EXPECT_LE(cards + parts.fix + (order ? parts.order + kCardGap : 0), width + 0.01f) << width;
        EXPECT_EQ(parts.order > 0, order);
        EXPECT_TRUE(slots == evidence || slots < evidence);
        EXPECT_EQ(parts.list, slots > 1 && parts.cards < evidence);
        // Another card would have no room, however narrow the rest is.
        if (parts.cards < evidence) {
          EXPECT_LE(parts.fix, 220);
          EXPECT_LE(parts.order, 250);
          EXPECT_LT(parts.card, 400) << width;
        }
      }
  EXPECT_EQ(share_drawer(1221, 4, true).cards, 4u) << "in a window of 1600 px";
  EXPECT_EQ(share_drawer(1240, 4, false).cards, 4u);
  EXPECT_EQ(share_drawer(1240, 7, true).cards, 3u);
  EXPECT_TRUE(share_drawer(1240, 7, true).list);
}

// A click on each of seven pieces of evidence chooses it, of which three have cards.
TEST_F(AppTest, WhatHasNoCardIsInTheList) {
  App& app = open(tests::golden("skipped-barrier/speaks-early-return", 8));
  settle();
  std::size_t evidence = app.reader().outcome().findings.at(0).evidence.size();
  ASSERT_GT(evidence, 6u);
  Box drawer = app.panes().drawer;
  std::set<std::size_t> chosen;
  for (float x = drawer.left + 30; x < drawer.right; x += 90)
    for (float y = drawer.top + 70; y < drawer.bottom - 10; y += 8) {
      press(Key::kEscape);
      click({x, y});
      if (app.state().evidence < evidence) chosen.insert(app.state().evidence);
      press(Key::kEscape);
    }
  EXPECT_EQ(chosen.size(), evidence);
}

TEST_F(AppTest, AnAdviceIsDrawnWithoutBackticks) {
  App& app = open(tests::golden("duplicate-checkpoint-write/speaks-one-path", 2));
  settle();
  ASSERT_NE(app.reader().outcome().findings.at(0).advice.find("`if rank == 0"), std::string::npos);
  EXPECT_TRUE(drew('='));
  EXPECT_FALSE(drew('`'));
}

// Of many ranks no window shows all rows: that of the odd one stands below its communicator's.
TEST_F(AppTest, TheRankAtFaultIsInSightAmongMany) {
  for (int ranks : {4, 5, 8, 16}) {
    app_.reset();
    std::filesystem::remove_all(folder_.path() / "trace");
    App& app = open(uneven(ranks));
    settle();
    Box plot = app.panes().plot_of(app.panes().lanes);
    std::vector<std::uint32_t> order;
    bool lane_seen = false;
    for (std::size_t row = 0; row < app.rows().size(); ++row) {
      Box box = app.placing().row_box(row, plot);
      bool whole = box.top >= plot.top - 1 && box.bottom <= plot.bottom + 1;
      if (app.rows()[row].kind == RowKind::kCommunicator) lane_seen = whole;
      if (app.rows()[row].kind != RowKind::kRank) continue;
      order.push_back(app.rows()[row].index);
      EXPECT_TRUE(whole || app.rows()[row].index != app.story().fault_rows.at(0)) << ranks;
    }
    EXPECT_TRUE(lane_seen) << ranks;
    ASSERT_EQ(order.size(), static_cast<std::size_t>(ranks));
    EXPECT_EQ(order.front(), ranks > 4 ? app.story().fault_rows.at(0) : 0u);
    EXPECT_EQ(order.back(), static_cast<std::uint32_t>(ranks > 4 ? ranks - 2 : ranks - 1));
    EXPECT_EQ(std::set(order.begin(), order.end()).size(), order.size());
  }
}

// In a small window rows are lower, those that the finding is not about are folded, and the rank at fault is
// first; the evidence's lane leaves room.
TEST_F(AppTest, RowsThatDoNotFitAreDenser) {
  for (auto [width, height] : {std::pair{1600.0f, 900.0f}, {1280.0f, 720.0f}}) {
    app_.reset();
    std::filesystem::remove_all(folder_.path() / "trace");
    size_ = {width, height};
    App& app = open(uneven(8));
    settle();
    Box plot = app.panes().plot_of(app.panes().lanes);
    std::size_t seen = 0;
    for (std::size_t row = 0; row < app.rows().size(); ++row) {
      Box box = app.placing().row_box(row, plot);
      seen += app.rows()[row].kind == RowKind::kRank && box.bottom <= plot.bottom + 1;
    }
    EXPECT_NE(app.state().rows.density, Density::kRoomy);
    EXPECT_EQ(app.state().rows.first, app.story().fault_rows);
    EXPECT_GE(seen, height > 800 ? 7u : 2u) << height;
    // Unfolding one changes no other.
    float last = app.rows().back().height;
    app.state().rows.turned.insert(app.rows()[app.rows().size() - 2].index);
    press(Key::kR), press(Key::kR);
    EXPECT_EQ(app.rows().back().height, last);
  }
}

TEST_F(AppTest, TheLegendTakesTheLinesThatItNeeds) {
  size_ = {1920, 1080};
  float one = (open(tests::kHealthy), app_->panes().legend.height());
  app_.reset();
  std::filesystem::remove_all(folder_.path() / "trace");
  size_ = {1280, 720};
  EXPECT_GE((open(tests::kHealthy), app_->panes().legend.height()), one + 15);
}

std::vector<std::string> legend_of(const App& app) {
  std::vector<std::string> words;
  for (const LegendEntry& entry : legend_entries(app.reader(), app.story())) words.push_back(entry.words);
  return words;
}

// The frame of what a finding's evidence is, and the colours of batches, which others of the legend have,
// too.
TEST_F(AppTest, TheLegendExplainsWhatTheFindingShows) {
  auto has = [](const std::vector<std::string>& words, std::string_view begin) {
    return std::ranges::any_of(words, [&](const std::string& each) { return each.starts_with(begin); });
  };
  auto reopen = [&](const std::string& text) {
    app_.reset();
    std::filesystem::remove_all(folder_.path() / "trace");
    open(text);
    settle();
    return legend_of(*app_);
  };
  std::vector<std::string> healthy = reopen(tests::kHealthy), skipped = reopen(uneven(3));
  EXPECT_FALSE(has(healthy, "evidence"));
  EXPECT_TRUE(has(skipped, "evidence"));
  EXPECT_FALSE(has(skipped, "input batch") || has(skipped, "sample") || has(skipped, "hatched"));
  // Hatched are those beyond the palette's colours.
  for (auto [trace, what] : {std::pair("speaks-passes", "sample"), {"speaks-batches", "input batch"}}) {
    std::vector<std::string> words = reopen(tests::golden(fmt::format("unsharded-sampler/{}", trace), 2));
    ASSERT_EQ(app_->story().lane, StoryLane::kBatches);
    EXPECT_TRUE(has(words, "evidence") && has(words, what)) << trace;
    std::uint32_t last = 0;
    for (const FileLine& line : app_->story().lines)
      for (const StoryAccess& access : line.accesses) last = std::max(last, access.content);
    EXPECT_EQ(has(words, "hatched"), last >= app_->theme().colours.chips.size()) << trace;
    EXPECT_EQ(has(words, "hatched"), trace == std::string_view("speaks-batches"));
  }
}

// Where hosts have rows, that rank has one of its own above them.
TEST_F(AppTest, TheRankAtFaultIsInSightAboveTheHosts) {
  App& app = open(uneven(100));
  settle();
  Box plot = app.panes().plot_of(app.panes().lanes);
  std::size_t row = row_of_rank(app.rows(), app.reader(), app.story().fault_rows.at(0));
  ASSERT_EQ(app.rows()[row].kind, RowKind::kRank);
  EXPECT_EQ(app.rows()[row + 1].kind, RowKind::kHostsHeading);
  Box box = app.placing().row_box(row, plot);
  EXPECT_GE(box.top, plot.top);
  EXPECT_LE(box.bottom, plot.bottom);
}

TEST(InShortTest, RanksInARowAreARange) {
  EXPECT_EQ(in_short("ranks 0, 1, 2, 3 and 5 wait; rank 4 never came"),
            "ranks 0–3 and 5 wait; rank 4 never came");
  EXPECT_EQ(in_short("ranks 0, 2, 3, 4, 5, 6 and 7 begin step 7"), "ranks 0, 2–7 begin step 7");
  EXPECT_EQ(in_short("ranks 0, 1 and 2 write"), "ranks 0, 1 and 2 write");
  EXPECT_EQ(in_short("of ranks 0-53 and 55-127 at a.py:3-4"), "of ranks 0–53 and 55–127 at a.py:3-4");
  EXPECT_EQ(in_short("ranks 0, 1, 2 and 3, 4 times"), "ranks 0–3, 4 times");
  EXPECT_EQ(in_short("ranks 0 and 8; ranks 1 and 9"), "ranks 0 and 8; ranks 1 and 9");
  EXPECT_EQ(in_short("of its ranks left no trace"), "of its ranks left no trace");
  EXPECT_EQ(in_short("all ranks "), "all ranks ");
  EXPECT_EQ(in_short("ranks 4, 5, 6 and 7 write /a/b/c/step_8.bin"), "ranks 4–7 write …/step_8.bin");
}

}  // namespace
}  // namespace ddpscope::viewer
