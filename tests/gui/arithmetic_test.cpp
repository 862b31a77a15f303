// Time against pixels, ticks, texts and the places of rows.
#include <gtest/gtest.h>

#include "viewer/app/panes.h"
#include "viewer/view/label_place.h"
#include "viewer/view/row_layout.h"
#include "viewer/view/time_view.h"

namespace ddpscope::viewer {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr TimeSpan kRun{0, 100 * kSecond};
TimeView view_of(TimeSpan shown) { return {shown, 200, 1000}; }

TEST(TimeViewTest, TimeAndPixelAreEachOthersInverse) {
  TimeView view = view_of({12 * kSecond, 13 * kSecond});
  EXPECT_EQ(view.x_of(12 * kSecond), 200);
  EXPECT_EQ(view.x_of(13 * kSecond), 1200);
  for (float x : {200.0f, 333.0f, 1199.0f}) EXPECT_NEAR(view.x_of(view.t_of(x)), x, 0.01);
}

TEST(TimeViewTest, FarOutsideThePlotThePixelIsClamped) {
  TimeView view = view_of({0, 1000});
  EXPECT_EQ(view.x_of(INT64_MAX / 4), 200 + 100'000);
  EXPECT_EQ(view.x_of(-INT64_MAX / 4), 200 - 100'000);
}

TEST(TimeViewTest, NanosecondsAreToldApartAfterADay) {
  std::int64_t day = 86'400 * kSecond;
  TimeView view = view_of({day, day + 1000});
  EXPECT_FLOAT_EQ(view.x_of(day + 500) - view.x_of(day + 499), 1);
}

TEST(ZoomTest, TheTimeUnderTheCursorStays) {
  TimeView view = view_of({40 * kSecond, 50 * kSecond});
  std::int64_t before = view.t_of(450);
  for (double factor : {0.5, 0.9, 1.1, 2.0}) {
    TimeView after = view_of(zoomed(view, factor, 450, kRun));
    EXPECT_NEAR(static_cast<double>(after.shown.length()), 10 * kSecond * factor, 2);
    EXPECT_NEAR(static_cast<double>(after.t_of(450) - before), 0, after.ns_per_px());
  }
}

TEST(ZoomTest, EndsAtTheRunAndAtTheShortestStretch) {
  TimeView view = view_of({40 * kSecond, 50 * kSecond});
  TimeSpan most = zoomed(view, 1e6, 700, kRun);
  EXPECT_EQ(most, (TimeSpan{-5 * kSecond, 105 * kSecond}));
  EXPECT_EQ(zoomed(view, 1e-12, 700, kRun).length(), kShortestShownNs);
  EXPECT_LE(zoomed(view, 2, 200, kRun).from_ns, 40 * kSecond);
}

TEST(ZoomTest, PanningStopsAtTheRunsEnds) {
  TimeView view = view_of({1 * kSecond, 11 * kSecond});
  EXPECT_EQ(panned(view, 100, kRun), (TimeSpan{2 * kSecond, 12 * kSecond}));
  EXPECT_EQ(panned(view, -100'000, kRun).from_ns, -5 * kSecond);
  EXPECT_EQ(panned(view, -100'000, kRun).length(), 10 * kSecond);
}

TEST(ZoomTest, AFindingFillsItsShareOfThePlot) {
  TimeSpan shown = fitted({40 * kSecond, 46 * kSecond}, 0.6, 1000, kRun);
  EXPECT_EQ(shown, (TimeSpan{38 * kSecond, 48 * kSecond}));
  EXPECT_EQ(fitted({kSecond, kSecond}, 0.5, 1000, kRun).length(), 2000);  // a moment
  EXPECT_EQ(fitted({0, 0}, 0.6, 1000, {0, 0}).length(), 400);             // a run of no length
}

TEST(FlightTest, KeepsTheSameFactorAFrame) {
  TimeSpan from{0, 100 * kSecond}, to{50 * kSecond, 51 * kSecond};
  EXPECT_EQ(between(from, to, 0), from);
  EXPECT_EQ(between(from, to, 1), to);
  EXPECT_NEAR(static_cast<double>(between(from, to, 0.5).length()), 10e9, 10);
  for (double done : {0.1, 0.5, 0.9}) {  // the target never leaves what is shown
    TimeSpan on_the_way = between(from, to, done);
    EXPECT_LE(on_the_way.from_ns, to.from_ns);
    EXPECT_GE(on_the_way.to_ns, to.to_ns);
  }
}

TEST(RulerTest, LabelsStandAtRoundTimesAndApart) {
  for (std::int64_t length : {std::int64_t{200}, std::int64_t{12'345}, 17 * kSecond, 8040 * kSecond}) {
    TimeView view = view_of({37, 37 + length});
    float last = -1e9f;
    int labels = 0;
    for (const Tick& tick : ruler_ticks(view, 90)) {
      if (!tick.major) continue;
      float x = view.x_of(tick.t_ns);
      EXPECT_GE(x - last, 89.9) << length;
      last = x;
      ++labels;
    }
    EXPECT_GE(labels, 3) << length;
    EXPECT_LE(labels, 11) << length;
  }
}

TEST(RulerTest, TextsAreThoseOfTheStep) {
  auto labels = [](TimeSpan shown) {
    std::vector<std::string> texts;
    for (const Tick& tick : ruler_ticks(view_of(shown), 100))
      if (tick.major) texts.push_back(tick.label);
    return texts;
  };
  EXPECT_EQ(labels({12'430'000'000, 12'930'000'000}).front(), "12.45 s");
  EXPECT_EQ(labels({0, 8040 * kSecond})[1], "0:15:00");
  EXPECT_EQ(labels({0, 5000})[2], "0.0000010 s");
}

TEST(TextTest, DurationsHaveThreeDigits) {
  EXPECT_EQ(duration_text(0), "0 ns");
  EXPECT_EQ(duration_text(46'000'000), "46.0 ms");
  EXPECT_EQ(duration_text(17'432'000), "17.4 ms");
  EXPECT_EQ(duration_text(999'600), "1.00 ms");
  EXPECT_EQ(duration_text(1'400'000'000), "1.40 s");
  EXPECT_EQ(duration_text(172 * kSecond), "2 min 52 s");
  EXPECT_EQ(duration_text(8040 * kSecond), "2 h 14 min");
  EXPECT_EQ(duration_text(-1500), "-1.50 µs");
}

TEST(TextTest, CountsAndBytes) {
  EXPECT_EQ(count_text(762), "762");
  EXPECT_EQ(count_text(418'000), "418 k");
  EXPECT_EQ(count_text(2'914'000), "2.91 M");
  EXPECT_EQ(bytes_text(48'200'000), "48.2 MB");
}

TEST(PanesTest, AtALargeScaleTheDrawerGivesWayToTheLanes) {
  for (float scale : {0.5f, 1.0f, 1.5f, 2.0f, 2.5f, 3.0f, 4.0f}) {
    Panes panes = panes_of(1920, 1080, scale, {}, {100});
    EXPECT_GE(panes.lanes.height(), 60 * scale) << scale;
    EXPECT_GE(panes.lanes.height(), scale <= 2 ? 165 * scale : 0) << scale;
    EXPECT_GE(panes.drawer.top, panes.legend.bottom) << scale;
    EXPECT_LE(panes.drawer.bottom, panes.status.top) << scale;
    EXPECT_EQ(panes.drawer.height() > 0, scale < 4) << scale;
  }
  EXPECT_EQ(panes_of(1920, 1080, 1, {}, {100}).drawer.height(), 272);
}

TEST(PanesTest, InALowWindowLanesHaveMoreOfTheRoomUntilTheDrawerIsDragged) {
  Panes low = panes_of(1280, 720, 1, {}, {100});
  EXPECT_EQ(low.drawer.height(), 245);
  EXPECT_GT(low.lanes.height(), low.drawer.height());
  EXPECT_EQ(panes_of(1280, 720, 1, {344, 272, true}, {100}).drawer.height(), 272);
  EXPECT_EQ(panes_of(1600, 900, 1, {}, {100}).drawer.height(), 272);
}

TEST(PanesTest, WhereLittleIsLeftForLanesTheLegendFolds) {
  PaneNeeds needs{100};
  needs.legend = 150;  // eight lines
  EXPECT_EQ(panes_of(1600, 900, 1, {}, needs).legend.height(), 150);
  Panes small = panes_of(600, 400, 1, {}, needs);
  EXPECT_EQ(small.legend.height(), 24);
  EXPECT_GE(small.lanes.height(), 100);
  for (float height : {220.0f, 260.0f, 300.0f}) {
    Panes panes = panes_of(600, height, 1, {}, needs);
    EXPECT_TRUE(panes.legend.height() == 0 || panes.lanes.height() >= 60) << height;
    EXPECT_LE(panes.lanes.bottom, panes.status.top) << height;
  }
}

TEST(TextTest, OneIsNoPlural) {
  EXPECT_EQ(plural(0, "rank"), "ranks");
  EXPECT_EQ(plural(1, "rank"), "rank");
  EXPECT_EQ(plural(2, "rank"), "ranks");
}

TEST(LabelPlaceTest, StandsLeftElseInTheFirstGapToTheRightOnNothing) {
  Stretch row{0, 1000}, anchor{300, 316};
  auto left = place_beside(anchor, 100, 6, row, {anchor}, {});
  ASSERT_TRUE(left);
  EXPECT_EQ(left->at.left, 194);
  EXPECT_FALSE(left->crossed);
  // A line from the left: right is free.
  auto right = place_beside(anchor, 100, 6, row, {{330, 360}, anchor}, {{0, 300}});
  ASSERT_TRUE(right);
  EXPECT_EQ(right->at.left, 366);
  EXPECT_FALSE(right->crossed);
  // Lines on both sides: left, and it says so.
  auto crossed = place_beside(anchor, 100, 6, row, {anchor}, {{0, 1000}});
  ASSERT_TRUE(crossed);
  EXPECT_EQ(crossed->at.left, 194);
  EXPECT_TRUE(crossed->crossed);
  // A bar on the left, the row's end on the right.
  EXPECT_FALSE(place_beside({900, 916}, 100, 6, row, {{850, 870}, {900, 916}}, {}));
}

TEST(RowLayoutTest, FindsRowsByHeightAlone) {
  RowLayout rows({10, 20, 0, 30});
  EXPECT_EQ(rows.height(), 60);
  EXPECT_EQ(rows.box(1).top, 10);
  EXPECT_EQ(rows.at(9.9f), 0u);
  EXPECT_EQ(rows.at(30), 3u);
  EXPECT_EQ(rows.at(60), rows.size());
  EXPECT_EQ(rows.at(-1), rows.size());
  auto range = rows.in_view(15, 31);
  EXPECT_EQ(range.first, 1u);
  EXPECT_EQ(range.last, 4u);
  EXPECT_EQ(rows.in_view(70, 80).first, rows.in_view(70, 80).last);
  EXPECT_EQ(RowLayout().at(0), 0u);
}

TEST(RowLayoutTest, ScrollsNoMoreThanNeeded) {
  EXPECT_EQ(scrolled_to(0, 10, 20, 100, 1000), 0);
  EXPECT_EQ(scrolled_to(0, 90, 120, 100, 1000), 20);
  EXPECT_EQ(scrolled_to(0, 500, 520, 100, 1000), 460);  // into the middle
  EXPECT_EQ(scrolled_to(400, 300, 700, 100, 1000), 300);
  EXPECT_EQ(scrolled_to(0, 990, 1000, 100, 1000), 900);
}

}  // namespace
}  // namespace ddpscope::viewer
