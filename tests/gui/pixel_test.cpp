// Facts about pixels: the marker of the finding stands at the computed place of the drawn rank and time, in
// every theme and at two scales. Drawn by EGL without a display.
#include <gtest/gtest.h>
#include <imgui.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "tests/gui/seeded_trace.h"
#include "viewer/draw/gui_context.h"
#include "viewer/offscreen/picture.h"

namespace ddpscope::viewer {
namespace {

Colour pixel(const Image& image, float x, float y) {
  auto column = static_cast<std::size_t>(std::clamp(x, 0.0f, image.width - 1.0f));
  auto line = static_cast<std::size_t>(std::clamp(y, 0.0f, image.height - 1.0f));
  const std::uint8_t* at = &image.rgba[(line * static_cast<std::size_t>(image.width) + column) * 4];
  return 0xFF000000u | static_cast<Colour>(at[2]) << 16 | static_cast<Colour>(at[1]) << 8 | at[0];
}

bool near(Colour a, Colour b, int most = 12) {
  for (int shift : {0, 8, 16})
    if (std::abs(static_cast<int>(a >> shift & 255) - static_cast<int>(b >> shift & 255)) > most)
      return false;
  return true;
}

// How many pixels of a box have a colour.
int count_near(const Image& image, const Box& box, Colour colour, int most = 12) {
  int count = 0;
  for (float y = box.top; y < box.bottom; ++y)
    for (float x = box.left; x < box.right; ++x) count += near(pixel(image, x, y), colour, most);
  return count;
}

struct Look {
  ThemeName theme;
  float scale;
};

class PixelTest : public testing::TestWithParam<Look> {
 protected:
  std::optional<Image> draw(const std::string& text) {
    auto reader = tests::open_text(text, folder_);
    if (!reader) return std::nullopt;
    AppOptions options;
    options.theme = GetParam().theme, options.scale = GetParam().scale, options.unhurried = true;
    app_ = std::make_unique<App>(std::move(*reader), options);
    auto image = picture_of(*app_, 1600, 1000);
    if (!image) ADD_FAILURE() << image.error().what;
    return image ? std::optional<Image>(*image) : std::nullopt;
  }
  float px(float at_scale_one) const { return at_scale_one * GetParam().scale; }

  GuiContext context_;
  tests::TemporaryFolder folder_;
  std::unique_ptr<App> app_;
};

TEST_P(PixelTest, TheEvidencesDiscStandsAtTheDrawnRankAndTime) {
  auto job = tests::draw_skipped_barrier(static_cast<unsigned>(GetParam().scale * 10) +
                                         static_cast<unsigned>(GetParam().theme));
  auto image = draw(job.text);
  ASSERT_TRUE(image);
  const Palette& p = palette_of(GetParam().theme);
  std::uint32_t rank_row = app_->reader().row_of_rank(job.faulty);
  std::size_t row = row_of_rank(app_->rows(), app_->reader(), rank_row);
  Box row_box = app_->placing().row_box(row, app_->panes().plot_of(app_->panes().lanes));
  float x = app_->time_view().x_of(job.early_ns);
  // A white disc round the moment, within the rank's row (it may stick out by its radius).
  float radius = px(8);
  bool found = false;
  for (float y = row_box.top - radius; y < row_box.bottom && !found; ++y)
    found = count_near(*image, {x - radius, y - radius, x + radius, y + radius}, p.focus) >
                0.4f * 3.14f * radius * radius &&
            near(pixel(*image, x - radius * 0.7f, y), p.focus) &&
            near(pixel(*image, x + radius * 0.7f, y), p.focus);
  EXPECT_TRUE(found) << "no disc of evidence at " << x;
  // The gutter of the rank at fault, and of no other, has the error's colour.
  for (int rank = 0; rank < job.ranks; ++rank) {
    std::size_t other = row_of_rank(app_->rows(), app_->reader(), app_->reader().row_of_rank(rank));
    Box box = app_->placing().row_box(other, app_->panes().plot_of(app_->panes().lanes));
    bool marked = near(pixel(*image, app_->panes().lanes.left + 1, box.middle_y()), p.error);
    EXPECT_EQ(marked, rank == job.faulty) << "rank " << rank;
  }
}

TEST_P(PixelTest, TheFindingsFlagAndTickAreSeenAtEveryZoom) {
  auto job = tests::draw_skipped_barrier(11);
  auto reader = tests::open_text(job.text, folder_);
  ASSERT_TRUE(reader);
  const Palette& p = palette_of(GetParam().theme);
  AppOptions options;
  options.theme = GetParam().theme, options.scale = GetParam().scale, options.unhurried = true;
  app_ = std::make_unique<App>(std::move(*reader), options);
  for (bool whole : {false, true}) {
    if (whole) app_->show_whole_run();
    auto image = picture_of(*app_, 1600, 1000);
    ASSERT_TRUE(image);
    std::int64_t first = app_->reader().outcome().findings[0].first_ns;
    float x = app_->time_view().x_of(first);
    const Box& flags = app_->panes().flags;
    EXPECT_GT(count_near(*image, {x, flags.top, x + px(20), flags.bottom}, p.error), 20)
        << "flag, whole run: " << whole;
    TimeView run{{0, app_->reader().job().duration_ns},
                 app_->panes().plot_left,
                 app_->panes().plot_right - app_->panes().plot_left};
    float tick = run.x_of(first);
    const Box& map = app_->panes().minimap;
    EXPECT_GT(count_near(*image, {tick - px(6), map.top, tick + px(6), map.top + px(18)}, p.error), 30)
        << "minimap";
  }
}

// Of a communicator's lane the line of a member, from then on to the run's end.
Box member_line(const App& app, std::size_t member, std::int64_t from_ns) {
  std::size_t row = 0;
  while (app.rows()[row].kind != RowKind::kCommunicator) ++row;
  Box plot = app.panes().plot_of(app.panes().lanes);
  float scale = app.state().scale, line = app.rows()[row].line;
  float top = app.placing().row_box(row, plot).top + (6 + line * static_cast<float>(member)) * scale;
  return {std::max(app.time_view().x_of(from_ns), plot.left), top,
          app.time_view().x_of(app.reader().job().duration_ns), top + line * scale};
}

// Rank 1 never comes: three collectives of each other rank are pending, and one of them is a shape to the
// end.
TEST_P(PixelTest, APendingCollectiveReachesTheEndAndTheRankThatNeverComesIsAHole) {
  auto image = draw(
      "let reduce = ncclAllReduce communicator=1 count=4K datatype=f32 stream=0x7 buffer=0x100\n"
      "for r in 0..2 {\n"
      "  process r$r rank=$r world=3 pid=${100+r} until=${9-6*(r%2)}\n"
      "  r$r 0.1 +0.05 ncclCommInitRank communicator=1 id=0xabc rank=$r size=3 device=$r\n"
      "  r$r 1.0 +0.001 $reduce\n"
      "  r$r 1.1 +0.01 cudaStreamSynchronize stream=0x7\n"
      "}\n"
      "for i in 0..2 every 0.1 {\n  r0,r2 2.0 +0.001 $reduce\n}\n"
      "r0,r2 2.3 inside cudaStreamSynchronize stream=0x7\n"
      "r1 3.0 +0.001 exit status=1\n");
  ASSERT_TRUE(image);
  app_->show_whole_run();
  app_->state().sizes.drawer = false;  // room for the lane at every scale
  app_->state().scroll = 0;
  image = *picture_of(*app_, 1600, 1000);
  const Palette& p = palette_of(GetParam().theme);
  for (std::size_t member : {0u, 1u, 2u}) {
    Box line = member_line(*app_, member, 2'000'000'000);
    float hole = static_cast<float>(count_near(*image, line, mixed(p.lane_odd, p.error_ground, 0.9f), 3));
    if (member == 1)
      EXPECT_GT(hole, line.width() * line.height() * 0.5f);
    else
      EXPECT_EQ(hole, 0) << "member " << member;
    if (member == 1) continue;
    // Filled to the end: no pixel of the bare lane.
    Box last{line.right - px(100), line.top + 1, line.right - 1, line.bottom - 1};
    EXPECT_EQ(count_near(*image, last, p.lane_odd, 3), 0) << "member " << member;
  }
}

// The trace ends as rank 0 has come to the last one, rank 1 is in the call and rank 2 is not there.
TEST_P(PixelTest, WhereATraceJustEndsNobodyIsToBlame) {
  auto image = draw(
      "let reduce = ncclAllReduce communicator=1 count=4K datatype=f32 stream=0x7 buffer=0x100\n"
      "for r in 0..2 {\n"
      "  process r$r rank=$r world=3 pid=${100+r}\n"
      "  r$r 0.1 +0.05 ncclCommInitRank communicator=1 id=0xabc rank=$r size=3 device=$r\n"
      "  r$r 1.0 +0.001 $reduce\n"
      "  r$r 1.1 +0.01 cudaStreamSynchronize stream=0x7\n"
      "}\n"
      "r0 1.2 +0.001 $reduce\nr0 1.21 inside cudaStreamSynchronize stream=0x7\nr1 1.2 inside $reduce\n");
  ASSERT_TRUE(image);
  ASSERT_TRUE(app_->reader().outcome().findings.empty());
  auto last = app_->reader().collectives(0, 1, 2);
  ASSERT_TRUE(last && last->size() == 1 && last->front().flags & merged::kMissing);
  const Palette& p = palette_of(GetParam().theme);
  const Panes& panes = app_->panes();
  EXPECT_EQ(count_near(*image, panes.lanes, p.error, 40), 0);
  EXPECT_EQ(count_near(*image, panes.lanes, mixed(p.lane_odd, p.error_ground, 0.9f), 3), 0);
}

// Rank 2 runs something else; rank 0's file ends before, and no finding is about that one.
TEST_P(PixelTest, OfARankWhoseFileIsCutTheHoleIsGrey) {
  auto image = draw(
      "let reduce = ncclAllReduce communicator=1 count=4K datatype=f32 stream=0x7 buffer=0x100\n"
      "process r0 rank=0 world=4 pid=100\n"
      "for r in 1..3 {\n  process r$r rank=$r world=4 pid=${100+r} until=4\n}\n"
      "for r in 0..3 {\n"
      "  r$r 0.1 +0.05 ncclCommInitRank communicator=1 id=0xabc rank=$r size=4 device=$r\n"
      "  r$r 1.0 +0.001 $reduce\n"
      "  r$r 1.1 +0.01 cudaStreamSynchronize stream=0x7\n"
      "}\n"
      "r1,r3 1.2 +0.001 $reduce\n"
      "r2 1.2 +0.001 ncclAllReduce communicator=1 count=2K datatype=f32 stream=0x7 buffer=0x100\n"
      "r1,r2,r3 1.21 inside cudaStreamSynchronize stream=0x7\n");
  ASSERT_TRUE(image);
  const auto& all = app_->reader().outcome().findings;
  ASSERT_FALSE(all.empty());
  ASSERT_EQ(all[0].ranks, std::vector<std::int32_t>{2});
  app_->state().sizes.drawer = false;  // room for the lane at every scale
  app_->state().scroll = 0;
  image = *picture_of(*app_, 1600, 1000);
  const Palette& p = palette_of(GetParam().theme);
  Box line = member_line(*app_, 0, 1'200'000'000);
  line.right = std::min(line.right, app_->panes().plot_right);
  EXPECT_EQ(count_near(*image, line, mixed(p.lane_odd, p.error_ground, 0.9f), 3), 0);
  EXPECT_GT(count_near(*image, line, mixed(p.lane_odd, p.wait_ground, 0.9f), 3), line.width() * 3);
}

// Also without input batches: what ranks read stands below each other, in one colour, with a sign between.
TEST_P(PixelTest, SamplesThatTwoRanksReadHaveEqualColours) {
  auto image = draw(tests::golden("unsharded-sampler/speaks-passes", 2));
  ASSERT_TRUE(image);
  const Palette& p = palette_of(GetParam().theme);
  Box plot = app_->panes().plot_of(app_->panes().lanes);
  ASSERT_EQ(app_->rows().front().kind, RowKind::kStory);
  Box lane = app_->placing().row_box(0, plot);
  float unit = lane.height() / lane_height(app_->story());
  float upper = lane.top + (7 + 4) * unit, lower = upper + (28 + 16) * unit;
  const auto& samples = app_->story().lines[0].accesses;
  for (std::size_t k = 0; k + 1 < samples.size(); ++k) {
    float x = app_->time_view().x_of(samples[k].begin_ns) + px(8);
    Colour colour = pixel(*image, x, upper);
    EXPECT_EQ(pixel(*image, x, lower), colour) << k;
    EXPECT_FALSE(near(colour, p.lane_even)) << k;
    EXPECT_NE(pixel(*image, app_->time_view().x_of(samples[k + 1].begin_ns) + px(8), upper), colour) << k;
  }
  Box between{plot.left, lane.top + (7 + 28) * unit, plot.right, lane.top + (7 + 28 + 14) * unit};
  EXPECT_GT(count_near(*image, between, p.error), 5 * px(10) * px(4));
  // Nothing of them lies over the ranks' names.
  for (const auto& colour : p.chips)
    EXPECT_EQ(count_near(*image, {plot.left - px(60), lane.top, plot.left - 1, lane.bottom}, colour, 3), 0);
}

// A thin line up to the last of them, where a slow one would be a bar.
TEST_P(PixelTest, LookUpsInOneRecordAreNoBar) {
  auto image = draw(
      "for r in 0..1 {\n"
      "  process r$r rank=$r world=2 until=8\n"
      "  r$r 0.100 +0.010 ncclCommInitRank communicator=1 id=0xabc rank=$r size=2 device=$r\n"
      "  r$r 1.000 +2.000 stat path=\"/data/parts\" count=110\n"
      "  r$r 5.000 +2.000 stat path=\"/data/slow\"\n}\n");
  ASSERT_TRUE(image);
  const Palette& p = palette_of(GetParam().theme);
  Box plot = app_->panes().plot_of(app_->panes().lanes);
  std::size_t row = row_of_rank(app_->rows(), app_->reader(), 0);
  Box part = app_->placing().part_box({row, 0}, plot);
  Colour slow = mixed(p.lane_even, p.text_low, 0.35f);
  for (auto [at_ns, is_bar] : {std::pair{2'500'000'000, false}, {6'500'000'000, true}}) {
    float x = app_->time_view().x_of(at_ns);
    EXPECT_EQ(near(pixel(*image, x, part.top + part.height() / 3), slow), is_bar) << at_ns;
    EXPECT_TRUE(near(pixel(*image, x, part.bottom - px(1.5f)), slow)) << at_ns;
  }
}

INSTANTIATE_TEST_SUITE_P(Looks, PixelTest,
                         testing::Values(Look{ThemeName::kDark, 1}, Look{ThemeName::kLight, 1},
                                         Look{ThemeName::kColorblind, 1}, Look{ThemeName::kDark, 1.5f},
                                         Look{ThemeName::kLight, 1.5f}, Look{ThemeName::kColorblind, 1.5f},
                                         Look{ThemeName::kDark, 2}));

TEST(PictureTest, TooLargeAPictureIsRefused) {
  GuiContext context;
  auto gl = OffscreenGl::open(1 << 20, 1 << 20);
  EXPECT_FALSE(gl);
}

TEST(PngTest, AFileThatCannotBeWrittenLeavesNothing) {
  tests::TemporaryFolder folder;
  Image image{2, 1, {255, 0, 0, 255, 0, 255, 0, 255}};
  auto failed = write_png(image, (folder.path() / "no" / "such.png").string());
  ASSERT_FALSE(failed);
  EXPECT_FALSE(failed.error().hint.empty());
  std::string path = (folder.path() / "a.png").string();
  ASSERT_TRUE(write_png(image, path));
  std::ifstream file(path, std::ios::binary);
  std::string head(8, 0);
  file.read(head.data(), 8);
  EXPECT_EQ(head, "\x89PNG\r\n\x1a\n");
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
}

}  // namespace
}  // namespace ddpscope::viewer
