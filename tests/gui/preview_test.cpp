// The viewer while its trace is being merged: rows are there first, then what ranks did, then findings.
#include <algorithm>
#include <future>

#include "tests/gui/app_fixture.h"
#include "tests/tools/generated_merged.h"

namespace ddpscope::viewer {
namespace {

class PreviewTest : public AppTest {
 protected:
  // Shows the first preview with findings, or the first without that has events or none; the whole trace is
  // kept.
  App& open_preview(const std::string& text, bool judged = true, bool events = false) {
    std::vector<merged::Reader> previews;
    whole_ = tests::open_text(text, folder_, &previews);
    if (!whole_ || previews.empty()) throw std::runtime_error("no preview");
    auto first = std::find_if(previews.begin(), previews.end(), [&](const merged::Reader& preview) {
      return preview.is_judged() == judged && (judged || events != preview.tracks().empty());
    });
    if (first == previews.end()) throw std::runtime_error("no such preview");
    app_ = std::make_unique<App>(std::move(*first), options());
    frame();
    return *app_;
  }

  App& show_whole() {
    auto next = std::make_unique<App>(std::move(*whole_), options());
    next->take_over(*app_);
    app_ = std::move(next);
    frame();
    return *app_;
  }

  static AppOptions options() {
    AppOptions options;
    options.reduced_motion = true;
    return options;
  }
  std::optional<merged::Reader> whole_;
};

// Ranks have rows before findings are looked for; nothing says that there are none.
TEST_F(PreviewTest, NamesRanksBeforeFindings) {
  auto job = tests::draw_skipped_barrier(5);
  App& app = open_preview(job.text, false);
  EXPECT_FALSE(app.reader().is_judged());
  EXPECT_TRUE(app.reader().outcome().findings.empty());
  EXPECT_TRUE(app.reader().communicators().empty());
  ASSERT_EQ(app.rows().size(), static_cast<std::size_t>(job.ranks));
  EXPECT_EQ(app.reader().job().duration_ns, whole_->job().duration_ns);
  for (Key key : {Key::kN, Key::k1, Key::kF, Key::kR, Key::kE, Key::kEscape, Key::kHome}) press(key);
  settle();
}

// Who has touched nothing is shown the worst one, who has moved stays where he is.
TEST_F(PreviewTest, TheWorstFindingIsChosenWhenItIsThere) {
  for (bool touches : {false, true}) {
    app_.reset();
    std::filesystem::remove_all(folder_.path() / "trace");
    auto job = tests::draw_skipped_barrier(6);
    open_preview(job.text, false);
    if (touches) press(Key::kS), press(Key::kW), press(Key::kW);
    TimeSpan stands = app_->state().shown;
    App& app = show_whole();
    settle();
    EXPECT_EQ(app.state().finding, 0u);
    EXPECT_TRUE(app.story().at_fault(app.reader().row_of_rank(job.faulty)));
    EXPECT_EQ(app.state().shown == stands, touches);
  }
}

// What ranks did can be looked at before anything is found.
TEST_F(PreviewTest, ShowsEventsBeforeFindings) {
  App& app = open_preview(tests::draw_skipped_barrier(7).text, false, true);
  EXPECT_FALSE(app.reader().is_judged());
  EXPECT_FALSE(app.reader().communicators().empty());
  for (Key key : {Key::kN, Key::k1, Key::kF, Key::kR, Key::kE, Key::kEscape, Key::kHome}) press(key);
  click(in_plot(0.5f, 0.5f));
  settle();
  App& next = show_whole();
  EXPECT_EQ(next.state().finding, 0u);
}

TEST_F(PreviewTest, NamesFindingsBeforeCollectives) {
  auto job = tests::draw_skipped_barrier(1);
  App& app = open_preview(job.text);
  EXPECT_FALSE(app.reader().tracks().empty());
  for (const merged::CommunicatorRow& row : app.reader().communicators()) EXPECT_EQ(row.collectives, 0u);
  EXPECT_EQ(app.reader().ranks().size(), static_cast<std::size_t>(job.ranks));
  ASSERT_FALSE(app.reader().outcome().findings.empty());
  EXPECT_EQ(app.state().finding, 0u);
  EXPECT_TRUE(app.story().at_fault(app.reader().row_of_rank(job.faulty)));
  EXPECT_TRUE(app.state().shown.contains(job.early_ns));
  move(in_plot(0.5f, 0.5f));
  click(in_plot(0.5f, 0.5f));
  press(Key::kN);
  settle();
}

TEST_F(PreviewTest, WhoHasTouchedNothingIsShownTheStory) {
  auto job = tests::draw_skipped_barrier(2);
  TimeSpan sketched = open_preview(job.text).story().focus;
  EXPECT_EQ(app_->story().communicator, merged::kNone);
  App& app = show_whole();
  EXPECT_FALSE(app.reader().tracks().empty());
  EXPECT_TRUE(app.state().shown.contains(sketched.from_ns));
  EXPECT_TRUE(app.state().shown.contains(job.early_ns));
  EXPECT_NE(app.story().communicator, merged::kNone);
  EXPECT_FALSE(app.wants_fonts());
}

TEST_F(PreviewTest, WhoHasMovedStaysThere) {
  App& app = open_preview(tests::draw_skipped_barrier(3).text);
  press(Key::kS);
  press(Key::kD);
  app.state().filter = "barrier";
  TimeSpan stands = app.state().shown;
  float scale = app.state().scale;
  App& next = show_whole();
  EXPECT_EQ(next.state().shown, stands);
  EXPECT_EQ(next.state().filter, "barrier");
  EXPECT_EQ(next.state().scale, scale);
}

TEST_F(PreviewTest, WhatWasChosenStaysChosen) {
  auto job = tests::draw_skipped_barrier(4);
  auto reader = tests::open_text(job.text, folder_);
  ASSERT_TRUE(reader);
  app_ = std::make_unique<App>(std::move(*reader), options());
  frame();
  press(Key::k1);
  merged::EventPlace chosen = app_->state().event;
  ASSERT_NE(chosen, merged::kNoEvent);
  auto again = merged::Reader::open(folder_.path() / "merged.ddpm");
  ASSERT_TRUE(again);
  whole_ = std::move(*again);
  App& app = show_whole();
  EXPECT_EQ(app.state().event, chosen);
  EXPECT_EQ(app.state().evidence, 0u);
}

TEST_F(PreviewTest, WhatIsToComeIsSaid) {
  App& app = open_preview(tests::kHealthy);
  settle();
  int plain = frame();
  app.set_coming("writing time lines, 3 of 8");
  int said = frame();
  EXPECT_GT(said, plain);
  app.set_coming("writing time lines, 3 of 8", 3 / 8.0f);
  EXPECT_GT(frame(), said) << "a bar tells how much";
  app.set_coming("");
  EXPECT_EQ(frame(), plain);
}

TEST_F(AppTest, AnotherFindingsStoryIsToldInTheEnd) {
  tests::MergedShape shape;
  shape.events = 20'000, shape.rows = 8, shape.findings = 3;
  auto made = tests::generate_merged(shape, folder_.path() / "made.ddpm");
  ASSERT_TRUE(made);
  auto reader = merged::Reader::open(folder_.path() / "made.ddpm");
  ASSERT_TRUE(reader);
  app_ = std::make_unique<App>(std::move(*reader), AppOptions{});
  EXPECT_FALSE(app_->reads());  // before there is a window there is time
  frame();
  for (std::uint32_t finding : {1u, 2u}) {
    app_->choose_finding(finding);
    EXPECT_EQ(app_->story().finding, finding);
    EXPECT_FALSE(app_->story().discs.empty());
    settle();
    EXPECT_EQ(app_->story().finding, finding);
  }
}

TEST(LoaderTest, WhoAsksDoesNotWait) {
  std::promise<void> go_on;
  std::shared_future<void> gone_on = go_on.get_future().share();
  Loader<int, int> loader([&](const int& key) -> Result<int> {
    gone_on.wait();
    return 2 * key;
  });
  EXPECT_EQ(loader.get(21, false), nullptr);
  EXPECT_EQ(loader.get(21, false), nullptr);
  go_on.set_value();
  const int* value = loader.get(21, true);
  ASSERT_NE(value, nullptr);
  EXPECT_EQ(*value, 42);
  EXPECT_EQ(*loader.get(5, true), 10);
}

}  // namespace
}  // namespace ddpscope::viewer
