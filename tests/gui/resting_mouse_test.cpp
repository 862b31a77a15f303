// When what is under the mouse is told: as soon as it has rested, and whoever waits for events knows when
// that is.
#include "tests/gui/app_fixture.h"

namespace ddpscope::viewer {
namespace {

class RestingMouseTest : public AppTest {
 protected:
  // In the middle of rank 0's all-reduce, as the host called it.
  Point on_a_call() {
    App& app = open(tests::kHealthy);
    app.show_whole_run();
    frame();
    Box plot = app.panes().plot_of(app.panes().lanes);
    const merged::Reader& reader = app.reader();
    for (std::uint32_t track = 0; track < reader.tracks().size(); ++track) {
      RowPlace place = place_of_track(app.rows(), track);
      if (place.row >= app.rows().size() || reader.tracks()[track].events == 0) continue;
      merged::Event event = reader.event({track, 0});
      Box part = app.placing().part_box(place, plot);
      return {app.time_view().x_of(event.begin_ns + (event.end_ns - event.begin_ns) / 2), part.middle_y()};
    }
    throw std::runtime_error("no call is seen");
  }
};

TEST_F(RestingMouseTest, IsWaitedForOnce) {
  Point at = on_a_call();
  EXPECT_EQ(app_->rest_left(), 0);
  move(at);
  double left = app_->rest_left();
  ASSERT_GT(left, 0);
  int without = frame();
  EXPECT_NEAR(app_->rest_left(), left - 1 / 60.0, 1e-6);
  move({at.x + 5, at.y});
  EXPECT_NEAR(app_->rest_left(), left, 1e-6) << "it begins again";
  // One frame when it is over, as who waits for events draws it, and those until the disk has told.
  int with = without;
  for (int i = 0; i < 5000 && with <= without; ++i) {
    with = frame(app_->rest_left() + 1 / 60.0f);
    EXPECT_EQ(app_->rest_left(), 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_GT(with, without);
}

TEST_F(RestingMouseTest, IsNotWaitedForWhereNothingIsTold) {
  Point at = on_a_call();
  move(at);
  ASSERT_GT(app_->rest_left(), 0);
  move({at.x, app_->panes().top.middle_y()});
  EXPECT_EQ(app_->rest_left(), 0) << "beside the lanes";
  move(at);
  press(Key::kQuestion);
  EXPECT_EQ(app_->rest_left(), 0) << "below a page";
}

}  // namespace
}  // namespace ddpscope::viewer
