// What the lanes show of a finding: golden traces, opened at what a stranger has to see.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tests/gui/app_fixture.h"
#include "viewer/story/batch_colours.h"
#include "viewer/story/passes.h"

namespace ddpscope::viewer {
namespace {

class StoryTest : public AppTest {
 protected:
  const Story& story_of(const std::string& trace, int ranks = 4) {
    open(tests::golden(trace, ranks));
    settle();
    return app_->story();
  }
};

TEST_F(StoryTest, ARaceForAFileIsInViewNotWhatBecameOfAnother) {
  open(tests::golden("checkpoint-race/speaks-all-rename", 4) +
       "r0 4.000 +0.001 rename path=\"/ckpt/tmp-2\" target=\"/ckpt/2\" stack=\"trainer.py:88 save_checkpoint "
       "< "
       "trainer.py:50 train\"\n"
       "r3 4.500 +0.001 rename path=\"/ckpt/tmp-2\" target=\"/ckpt/2\" error=ENOENT stack=\"trainer.py:88 "
       "save_checkpoint < trainer.py:50 train\"\n");
  settle();
  const Story& story = app_->story();
  ASSERT_EQ(story.lane, StoryLane::kFile);
  EXPECT_EQ(story.file, "/ckpt/tmp-1");
  EXPECT_GE(story.focus.from_ns, 900'000'000);
  EXPECT_LE(story.focus.to_ns, 1'200'000'000);
  // What each rank does is told beside the disc that says it.
  ASSERT_EQ(story.lines.size(), 4u);
  for (const FileLine& line : story.lines) {
    ASSERT_LT(line.disc, story.discs.size());
    EXPECT_EQ(story.discs[line.disc].rank_row, line.rank_row);
    EXPECT_TRUE(line.does.starts_with(line.rank_row == 3 ? "renames" : "fails")) << line.does;
  }
}

// What came of the two, later and with another file, is evidence, and no access that conflicts.
TEST_F(StoryTest, ArrowsLinkAccessesOfOneFile) {
  const Story& story = story_of("divergent-existence-check/speaks-messages", 2);
  const auto& evidence = app_->reader().outcome().findings[0].evidence;
  ASSERT_NE(evidence.back().file, evidence.front().file);
  ASSERT_EQ(story.arrows.size(), 1u);
  EXPECT_EQ(evidence[story.arrows[0].from].file, evidence[story.arrows[0].to].file);
}

TEST_F(StoryTest, WhatIsNotThereHasALaneThatSaysWhere) {
  const Story& alone = story_of("no-process-group/speaks-never");
  ASSERT_EQ(alone.lane, StoryLane::kAbsence);
  EXPECT_TRUE(alone.absence.words.starts_with("nothing connects ranks 0–3")) << alone.absence.words;
  EXPECT_TRUE(alone.arrows.empty());
  // From the first rank's first update on, and all have begun in view.
  EXPECT_LE(alone.absence.span.from_ns, alone.focus.from_ns);
  for (const StoryDisc& disc : alone.discs) {
    bool saves = !app_->reader().outcome().findings[0].evidence[disc.number - 1].file.empty();
    EXPECT_TRUE(saves || alone.focus.contains(disc.t_ns)) << disc.number;
  }
  EXPECT_GT(lane_height(alone), 0);
}

// Hosts issue the reductions at 1.007 s, devices are at them from 1.06 to 1.08 s.
TEST_F(StoryTest, TransfersThatNothingHidesAreInView) {
  const Story& late = story_of("exposed-communication/speaks-after-backward");
  EXPECT_LE(late.focus.from_ns, 1'007'000'000);
  EXPECT_GE(late.focus.to_ns, 1'080'000'000);
  EXPECT_LE(late.focus.length(), 200'000'000) << "of one step";
}

// Each stands where its device does it: they were issued at one moment.
TEST_F(StoryTest, DiscsOfTransfersStandOnTheDevice) {
  const Story& late = story_of("exposed-communication/speaks-after-backward");
  std::set<std::int64_t> at;
  for (const StoryDisc& disc : late.discs) {
    if (!disc.on_device) continue;
    EXPECT_GT(disc.drawn_ns(), disc.t_ns);
    EXPECT_TRUE(late.focus.contains(disc.drawn_ns()));
    at.insert(disc.drawn_ns());
  }
  EXPECT_GT(at.size(), 1u);
}

TEST_F(StoryTest, ABarrierThatNobodyWaitsForIsNamed) {
  const Story& barrier = story_of("ineffective-barrier/speaks-async");
  ASSERT_EQ(barrier.notes.size(), 1u);
  EXPECT_TRUE(barrier.notes[0].lines.at(0).starts_with("barrier #")) << barrier.notes[0].lines[0];
}

// Hosts issue all of a step before the devices come to the first.
TEST_F(StoryTest, WhereHostsAreAheadTheDifferenceItselfIsInView) {
  for (int ranks : {2, 4, 8}) {
    app_.reset();
    std::filesystem::remove_all(folder_.path() / "trace");
    std::string text;
    for (int rank = 0; rank < ranks; ++rank) {
      text += fmt::format(
          "process r{0} rank={0} world={1} until=9\n"
          "r{0} 0.1 +0.05 ncclCommInitRank communicator=1 id=0xabc rank={0} size={1} device={0}\n",
          rank, ranks);
      for (int k = 0; k < 8; ++k) {
        bool odd = k == 5 && rank == ranks - 1;
        text +=
            fmt::format("r{} 1.00{} +0.0001 ncclAllReduce communicator=1 count={} datatype=f32 stream=0x7\n",
                        rank, k, odd ? 7 : 1000);
        if (k < 5)
          text += fmt::format(
              "r{}/2 {:.2f} +0.04 gpu kind=collective communicator=1 sequence={} thread=1 called=1.00{}\n",
              rank, 1.2 + 0.05 * k, k, k);
      }
    }
    open(text + "r* 1.010 inside cudaStreamSynchronize stream=0x7\n");
    settle();
    const Story& story = app_->story();
    EXPECT_EQ(story.sequence, 5u);
    EXPECT_LE(story.focus.from_ns, 1'005'000'000);
    EXPECT_GT(story.focus.to_ns, 1'440'000'000) << "it begins there";
    // The card of the odd one's call tells both times.
    EXPECT_EQ(story.discs.back().t_ns, 1'005'000'000);
    EXPECT_EQ(story.discs.back().device_ns, 1'440'000'000);
    Box plot = app_->panes().plot_of(app_->panes().lanes);
    std::size_t fault = row_of_rank(app_->rows(), app_->reader(), story.fault_rows.back());
    for (std::size_t row : {std::size_t{0}, fault}) {
      Box box = app_->placing().row_box(row, plot);
      EXPECT_GE(box.top, plot.top - 1) << "row " << row << " of " << ranks << " ranks";
      EXPECT_LE(box.bottom, plot.bottom + 1) << "row " << row << " of " << ranks << " ranks";
    }
  }
}

TEST_F(StoryTest, WhereHostsWaitThereIsOneTime) {
  for (const StoryDisc& disc : story_of("mismatched-collective/speaks-operation").discs)
    EXPECT_EQ(disc.device_ns, merged::kUnknown) << disc.number;
}

// The update's disc stands where it can begin, not before it was issued.
TEST_F(StoryTest, AnUpdateStandsBehindTheLastReduction) {
  const Story& story = story_of("redundant-accumulation-sync/speaks-every-micro-batch");
  ASSERT_EQ(story.lane, StoryLane::kSyncs);
  const StoryDisc& update = story.discs.back();
  EXPECT_GE(update.shown_ns, story.syncs.back().to_ns);
  EXPECT_GE(update.shown_ns, update.t_ns);
}

TEST_F(StoryTest, OfAGraphsLaunchTheCollectiveThatDiffersIsNamed) {
  for (int ranks : {2, 4}) {
    app_.reset();
    std::filesystem::remove_all(folder_.path() / "trace");
    const Story& story = story_of("mismatched-collective/speaks-left-out-in-graphs", ranks);
    ASSERT_NE(story.communicator, merged::kNone);
    EXPECT_EQ(story.sequence, 7u);
    ASSERT_EQ(story.notes.size(), 1u);
    EXPECT_TRUE(story.notes[0].lines.at(1).starts_with("its #7 is: all-reduce of 250000"))
        << story.notes[0].lines.at(1);
    auto launch = app_->reader().detail(story.discs.at(1).place);
    ASSERT_TRUE(launch);
    EXPECT_EQ(launch->call, "cudaGraphLaunch");
    ASSERT_EQ(launch->collectives.size(), 1u);
    EXPECT_EQ(launch->collectives[0].count, 2u);
    EXPECT_EQ(label_of(*launch, launch->call), "#6–#7 cudaGraphLaunch");
  }
}

// A launch reduces among all ranks, then twice within pairs.
TEST_F(StoryTest, OfAGraphsLaunchThoseOfAllCommunicatorsAreNamed) {
  std::string text =
      "for r in 0..3 {\n"
      "  process r$r rank=$r world=4 until=20\n"
      "  r$r 0.100 +0.01 ncclCommInitRank communicator=1 id=0xabc rank=$r size=4 device=$r\n"
      "  r$r 0.120 +0.01 ncclCommInitRank communicator=2 id=${100+r//2} rank=${r%2} size=2 "
      "device=$r\n"
      "  r$r 0.2000 +0.0001 cudaStreamBeginCapture stream=0x5\n"
      "  r$r 0.2010 +0.0001 ncclAllReduce communicator=1 count=1000 datatype=f32 stream=0x5 "
      "buffer=0x200\n"
      "  r$r 0.2011 +0 call_captured communicator=1 sequence=0 capture=1 stream=0x5\n"
      "  for s in 0..1 every 0.001 {\n"
      "    r$r 0.2020 +0.0001 ncclAllReduce communicator=2 count=$s datatype=f32 stream=0x5 "
      "buffer=0x300\n"
      "    r$r 0.2021 +0 call_captured communicator=2 sequence=$s capture=1 stream=0x5\n"
      "  }\n"
      "  r$r 0.2040 +0.0001 cudaStreamEndCapture stream=0x5 event=0x77 flags=1\n"
      "  r$r 0.2050 +0.0001 cudaGraphInstantiate graph=0x77 executable=0x78\n"
      "  for step in 0..9 every 0.010 {\n"
      "    r$r 1.000 +0.0001 cudaGraphLaunch event=0x78 stream=0x5\n  }\n"
      "  r$r 1.300 +0.001 cudaStreamSynchronize stream=0x5\n}\n";
  auto reader = tests::open_text(text, folder_);
  ASSERT_TRUE(reader);
  std::vector<std::string> labels;
  for (std::uint32_t track = 0; track < reader->tracks().size(); ++track)
    for (std::uint64_t i = 0; i < reader->tracks()[track].events; ++i) {
      auto detail = reader->detail({track, i});
      ASSERT_TRUE(detail);
      if (detail->call == "cudaGraphLaunch") labels.push_back(label_of(*detail, detail->call));
    }
  ASSERT_EQ(labels.size(), 40u);
  EXPECT_EQ(labels[0], "#0, #0–#1 cudaGraphLaunch");
  EXPECT_EQ(labels[3], "#3, #6–#7 cudaGraphLaunch");
}

TEST_F(StoryTest, ReductionsThatAreMissingAreAHoleUpToTheUpdate) {
  const Story& never = story_of("missing-gradient-sync/speaks-never");
  ASSERT_EQ(never.lane, StoryLane::kAbsence);
  EXPECT_EQ(never.absence.span.from_ns, 200'000'000);  // the model is handed out
  EXPECT_GE(never.absence.span.to_ns, 1'950'000'000);  // the last update
  EXPECT_EQ(never.absence.words, "ranks 0–3 reduce no gradients");
}

TEST_F(StoryTest, OfLaterMicroBatchesTheHoleBeginsWithTheirInput) {
  const Story& later = story_of("missing-gradient-sync/speaks-first-micro-batch");
  ASSERT_EQ(later.lane, StoryLane::kAbsence);
  ASSERT_EQ(later.discs.size(), 3u);
  EXPECT_EQ(later.absence.span, (TimeSpan{later.discs[1].t_ns, later.discs[2].t_ns}));
  EXPECT_TRUE(later.focus.contains(later.discs[0].t_ns));
}

TEST_F(StoryTest, WithoutInputsARepeatedOrderIsALinkInTime) {
  const Story& repeated = story_of("repeated-epoch-order/speaks-clips");
  EXPECT_EQ(repeated.lane, StoryLane::kNone);
  ASSERT_EQ(repeated.arrows.size(), 1u);
  EXPECT_EQ(repeated.arrows[0].kind, ArrowKind::kInTime);
  EXPECT_EQ(repeated.discs[repeated.arrows[0].from].rank_row, repeated.discs[repeated.arrows[0].to].rank_row);
}

// What is told of a rank stands at the call that tells it, and nowhere else.
TEST(DeedTest, OfOtherAccessesOnlyWhatTheyAreIsSaid) {
  using merged::Kind;
  FileLine line{0, {{100, 110, Kind::kTick, false}, {900, 920, Kind::kFileWrite, false}}, true, true};
  line.does = "deletes it";
  EXPECT_EQ(deed_text(line, true, {0, 1000}), "deletes it");
  EXPECT_EQ(deed_text(line, false, {0, 500}), "uses it");
  EXPECT_EQ(deed_text(line, false, {0, 1000}), "writes");
}

TEST_F(StoryTest, WhatIsOneTooManyIsNotCalledLeftOut) {
  const Story& surplus = story_of("skipped-barrier/speaks-one-more");
  ASSERT_EQ(surplus.notes.size(), 1u);
  EXPECT_EQ(surplus.notes[0].lines.at(0), "rank 3 runs a barrier once more");
  app_.reset();
  std::filesystem::remove_all(folder_.path() / "trace");
  const Story& missing = story_of("skipped-barrier/speaks-early-return");
  ASSERT_EQ(missing.notes.size(), 1u);
  EXPECT_NE(missing.notes[0].lines.at(0).find("on without the barrier"), std::string::npos);
}

// Rank 2 issues its second once more: peers' third differs from its own third, which is the second once more.
TEST_F(StoryTest, TheNoteIsAtTheCallThatDiffers) {
  std::string text =
      "for r in 0..2 {\n"
      "  process r$r rank=$r world=3 pid=${100+r} until=9\n"
      "  r$r 0.1 +0.05 ncclCommInitRank communicator=1 id=0xabc rank=$r size=3 device=$r\n"
      "  r$r 1.000 +0.001 ncclAllReduce communicator=1 count=4096 datatype=f32 stream=0x7\n"
      "  r$r 1.010 +0.001 ncclAllReduce communicator=1 count=8192 datatype=f32 stream=0x7 stack=\"a.py:6 "
      "f\"\n"
      "}\n"
      "r2 1.009 +0.0005 ncclAllReduce communicator=1 count=8192 datatype=f32 stream=0x7 stack=\"a.py:5 f\"\n"
      "r* 1.020 +0.001 ncclAllReduce communicator=1 count=12288 datatype=f32 stream=0x7 stack=\"a.py:6 f\"\n"
      "r* 1.030 inside cudaStreamSynchronize stream=0x7\n";
  open(text);
  settle();
  ASSERT_EQ(app_->reader().outcome().findings.at(0).slug, "mismatched-collective");
  const Story& story = app_->story();
  ASSERT_EQ(story.notes.size(), 1u);
  auto differ = app_->reader().collectives(0, 0, 4);
  ASSERT_TRUE(differ);
  std::uint64_t odd = 0;
  while (odd < differ->size() && !((*differ)[odd].flags & merged::kMismatched)) ++odd;
  EXPECT_TRUE(story.notes[0].lines.at(1).starts_with(fmt::format("its #{} is: ", odd)))
      << story.notes[0].lines.at(1);
}

// Each rank writes a copy under a name of its own, first under another one.
TEST_F(StoryTest, OfSeveralCopiesEachRanksIsShown) {
  const Story& story = story_of("duplicate-checkpoint-write/speaks-other-names");
  ASSERT_EQ(story.lane, StoryLane::kFile);
  EXPECT_TRUE(story.several_files());
  ASSERT_EQ(story.lines.size(), 4u);
  std::set<std::string> files;
  for (const FileLine& line : story.lines) {
    files.insert(line.file);
    EXPECT_TRUE(line.writes) << line.file;
    EXPECT_LT(line.disc, story.discs.size()) << line.file;
    for (const StoryAccess& access : line.accesses)
      EXPECT_LT(access.begin_ns, 1'400'000'000) << "of the first save";
  }
  EXPECT_EQ(files.size(), 4u);
  EXPECT_TRUE(story.focus.contains(1'102'000'000) && story.focus.length() < 1'000'000'000);
}

// Each pair of ranks writes a file of its own: the lane is of one of them.
TEST_F(StoryTest, OfTheFileThatIsShownTheOthersHaveNoLine) {
  open(
      "for r in 0..3 {\n"
      "  process r$r rank=$r world=4 until=9\n"
      "  r$r 0.100 +0.05 ncclCommInitRank communicator=1 id=0xabc rank=$r size=4 device=$r\n"
      "  r$r 1.00$r +0.001 open flags=wronly|creat|trunc file=1 path=\"/ckpt/part${r//2}\" "
      "stack=\"train.py:90 save\"\n"
      "  r$r 1.100 +0.050 write file=1 bytes=900 next=900\n"
      "  r$r 1.200 +0.001 close file=1\n}\n");
  settle();
  ASSERT_EQ(app_->reader().outcome().findings.at(0).ranks.size(), 4u);
  ASSERT_EQ(app_->story().lane, StoryLane::kFile);
  EXPECT_EQ(app_->story().lines.size(), 2u);
}

FileLine inputs_of(const std::vector<std::uint64_t>& digests) {
  FileLine line{2, {}, false, true};
  for (std::uint64_t digest : digests) {
    auto at = static_cast<std::int64_t>(1000 * line.accesses.size());
    line.accesses.push_back({at, at + 10, merged::Kind::kCopy, false, digest});
  }
  return line;
}

TEST(PassesTest, BatchesOfOnePlaceStandBelowEachOther) {
  // Parameters, then three passes of four batches and a cut fourth one.
  auto passes = passes_of(inputs_of({99, 98, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2}));
  ASSERT_EQ(passes.size(), kMostPasses);
  for (std::size_t i = 0; i < passes.size(); ++i) {
    ASSERT_EQ(passes[i].accesses.size(), 4u);
    EXPECT_EQ(passes[i].rank_row, 2u);
    EXPECT_EQ(passes[i].does, "pass " + std::to_string(i + 1));
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_EQ(passes[i].accesses[k].digest, k + 1);
      EXPECT_EQ(passes[i].accesses[k].begin_ns, passes[0].accesses[k].begin_ns);
    }
  }
  EXPECT_EQ(passes[0].accesses[0].begin_ns, 2000);
}

TEST(PassesTest, ABatchByChanceAlikeIsNoPass) {
  EXPECT_TRUE(passes_of(inputs_of({})).empty());
  EXPECT_TRUE(passes_of(inputs_of({1, 2, 3, 1, 4, 5, 6, 7})).empty());
  EXPECT_TRUE(passes_of(inputs_of({1, 2, 3, 4, 3, 2, 4, 1})).empty());
  // Two alike before the passes begin are none either.
  auto passes = passes_of(inputs_of({9, 9, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5}));
  ASSERT_EQ(passes.size(), 2u);
  EXPECT_EQ(passes[1].accesses[4].digest, 5u);
}

TEST(BatchColoursTest, OnlyEqualBatchesInViewHaveEqualColours) {
  std::vector<std::uint64_t> digests;
  for (std::uint64_t i = 0; i < 60; ++i)
    digests.push_back(i * i % 23 * 8);  // a multiple of every palette's size
  std::vector<FileLine> lines{inputs_of(digests), inputs_of({1, 2, 3, 8, 16})};
  number_contents(lines);
  for (std::int64_t from : {0, 7000, 20000, 41000})
    for (std::int64_t length : {2000, 9000, 60000}) {
      TimeSpan shown{from, from + length};
      auto colours = colours_of_batches(lines, shown, 16);
      std::set<std::size_t> given;
      for (auto [content, colour] : colours) {
        EXPECT_LT(colour, 16u);
        EXPECT_TRUE(given.insert(colour).second) << content << " from " << from;
      }
      std::set<std::uint32_t> in_view;
      for (const FileLine& line : lines)
        for (const StoryAccess& access : line.accesses)
          if (shown.contains(access.begin_ns)) in_view.insert(access.content);
      for (std::uint32_t content : in_view)
        EXPECT_TRUE(colours.contains(content) || given.size() == 16) << content;
    }
  EXPECT_EQ(lines[0].accesses[0].content, lines[0].accesses[23].content);
  EXPECT_NE(lines[0].accesses[0].content, lines[1].accesses[0].content);
}

// Above all findings, and a click goes there.
TEST_F(StoryTest, WhoFailedFirstIsToldWhereTheFindingsAre) {
  std::string job = "process run pid=9 DDPSCOPE_RUN=x\nrun 0.05 +8.95 job_watched pid=9 status=1\n";
  for (const char* rank : {"0", "1", "2"})
    job += std::string("process r") + rank + " pid=1" + rank + " rank=" + rank +
           " world=3 DDPSCOPE_RUN=x\nr" + rank +
           " 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=" + rank + " size=3\n";
  open(job +
       "r1 2 +0 python_traceback exception=\"RuntimeError\" stack=\"train.py:88 main\"\n"
       "r0 2.2 +0.001 exit status=1\nr1 2.5 +0.001 exit status=1\nr2 7 +0.001 exit status=1\n");
  settle();
  ASSERT_TRUE(app_->reader().outcome().first_failure);
  app_->state().shown = {100'000'000, 200'000'000};
  const Box& list = app_->panes().list;
  click({list.left + 40, list.top + 90});
  EXPECT_TRUE(app_->state().shown.contains(2'000'000'000));
}

}  // namespace
}  // namespace ddpscope::viewer
