// Which rows communicators have and what they are called, messages between ranks, and ranks that share a
// process.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "tests/gui/seeded_trace.h"
#include "viewer/timeline/collective_members.h"
#include "viewer/timeline/collective_walk.h"

namespace ddpscope::viewer {
namespace {

constexpr std::int64_t kMs = 1'000'000;

std::string processes(int ranks, const std::string& more = "") {
  return fmt::format(
      "for r in 0..{0} {{\n"
      "  process r$r rank=$r world={1} pid=${{100+r}} until=4\n"
      "  r$r 0.100 +0.050 ncclCommInitRank communicator=1 id=0xabc rank=$r size={1} device=$r\n{2}"
      "}}\n",
      ranks - 1, ranks, more);
}

std::string message(const char* call, int rank, double at, int peer, int count = 1024) {
  return fmt::format("r{} {:.3f} +0.001 {} communicator=1 count={} datatype=f32 stream=0x7 peer={}\n", rank,
                     at, call, count, peer);
}

std::vector<std::string> names_of(const merged::Reader& reader) {
  std::vector<std::string> names;
  for (const merged::CommunicatorRow& row : reader.communicators()) names.push_back(row.name);
  return names;
}

TEST(Communicators, ThoseOfAllRanksHaveNamesOfTheirOwn) {
  tests::TemporaryFolder folder;
  auto reader = tests::open_text(
      processes(3,
                "  r$r 0.200 +0.010 ncclCommSplit communicator=2 parent=1 id=0xdef rank=$r size=3 device=$r\n"
                "  r$r 0.300 +0.010 ncclCommSplit communicator=3 parent=1 id=0xfed rank=$r size=3 device=$r\n"
                "  r$r 1.000 +0.001 ncclAllReduce communicator=1 count=4K datatype=f32 stream=0x7\n"
                "  r$r 1.100 +0.001 ncclAllReduce communicator=2 count=4K datatype=f32 stream=0x7\n") +
          "r0 0.400 +0.010 ncclCommSplit communicator=4 parent=1 id=0x123 rank=0 size=2 device=0\n"
          "r2 0.400 +0.010 ncclCommSplit communicator=4 parent=1 id=0x123 rank=1 size=2 device=2\n",
      folder);
  ASSERT_TRUE(reader);
  EXPECT_EQ(names_of(*reader),
            (std::vector<std::string>{"world", "world 2", "world 3", "communicator 3: ranks 0, 2"}));
}

// On Gloo there is no communicator of NCCL: the rows are those of PyTorch's groups.
std::string group_calls(const char* of_rank_2) {
  return std::string(
             "for r in 0..2 {\n"
             "  process r$r rank=$r world=3 pid=${100+r} until=4\n"
             "  r$r 0.100 +0.050 c10d_group communicator=1 id=0xabc name=\"default_pg/0/cpu\" "
             "backend=\"gloo\" "
             "rank=$r size=3\n"
             "}\n"
             "r0 0.200 +0.010 c10d_group communicator=2 id=0xdef name=\"default_pg/0/1/cpu\" "
             "backend=\"gloo\" "
             "rank=0 size=2\n"
             "r2 0.200 +0.010 c10d_group communicator=2 id=0xdef name=\"default_pg/0/1/cpu\" "
             "backend=\"gloo\" "
             "rank=1 size=2\n"
             "r* 1.000 +0.0001 c10d_allreduce communicator=1 count=16 datatype=f32 reduction=sum "
             "flags=synchronous peer=-1\n"
             "r* 1.001 +0.010 c10d_wait communicator=1 flags=at_once\n"
             "r* 1.100 +0.0001 c10d_barrier communicator=1 reduction=none datatype=unknown flags=synchronous "
             "peer=-1\n"
             "r* 1.101 +0.010 c10d_wait communicator=1 flags=at_once\n"
             "r0 1.200 +0.0001 c10d_allreduce communicator=2 count=8 datatype=f32 reduction=sum "
             "flags=synchronous peer=-1\n"
             "r2 1.200 +0.0001 c10d_allreduce communicator=2 count=8 datatype=f32 ") +
         of_rank_2 + " flags=synchronous peer=-1\n";
}

TEST(Communicators, OfGlooAreTheProcessGroups) {
  tests::TemporaryFolder folder;
  auto reader = tests::open_text(group_calls("reduction=max"), folder);
  ASSERT_TRUE(reader);
  EXPECT_EQ(names_of(*reader), (std::vector<std::string>{"world", "process group 1: ranks 0, 2"}));
  auto world = reader->collectives(0, 0, 10);
  ASSERT_TRUE(world);
  ASSERT_EQ(world->size(), 2u);
  EXPECT_EQ((*world)[0].kind, merged::Kind::kCollective);
  EXPECT_EQ((*world)[1].kind, merged::Kind::kBarrier);
  for (const merged::Collective& collective : *world) {
    ASSERT_EQ(collective.arrivals.size(), 3u);
    for (const merged::Arrival& arrival : collective.arrivals) {
      EXPECT_FALSE(arrival.event == merged::kNoEvent) << "the call has its place on the rank's row";
      EXPECT_NE(arrival.end_ns, merged::kNever);
    }
  }
  auto pair = reader->collectives(1, 0, 10);
  ASSERT_TRUE(pair);
  ASSERT_EQ(pair->size(), 1u);
  EXPECT_TRUE((*pair)[0].flags & merged::kMismatched);
}

std::vector<WholeCollective> all_of(const merged::Reader& reader, std::uint32_t communicator) {
  WalkBudget budget = WalkBudget::unlimited();
  return walk_collectives(reader, communicator, {{0, reader.job().duration_ns}, 0, 1e5f}, budget).whole;
}

// Rank 0 hands on to rank 1, which hands on to rank 2; the second message is never received.
TEST(Messages, StandInARowByTime) {
  tests::TemporaryFolder folder;
  auto reader =
      tests::open_text(processes(3) + message("ncclSend", 0, 1.000, 1) + message("ncclRecv", 1, 1.200, 0) +
                           message("ncclSend", 1, 1.300, 2) + message("ncclRecv", 2, 1.100, 1) +
                           message("ncclSend", 0, 1.400, 2, 512) +
                           "r1 1.310 +0.090 cudaStreamSynchronize stream=0x7\n"
                           "r2 1.310 +0.190 cudaStreamSynchronize stream=0x7\n",
                       folder);
  ASSERT_TRUE(reader);
  ASSERT_EQ(names_of(*reader), std::vector<std::string>{"world"}) << "there are no collectives beside them";
  EXPECT_EQ(reader->communicators()[0].members[0].collectives, 2u);
  auto all = all_of(*reader, 0);
  ASSERT_EQ(all.size(), 3u);
  for (const WholeCollective& whole : all) EXPECT_TRUE(whole.shape.message);
  const CollectiveShape &first = all[0].shape, &second = all[1].shape, &lost = all[2].shape;
  EXPECT_EQ(collective_text(all[0].collective, first), "#0 Send float32×1,024 to 1");
  EXPECT_TRUE(first.members[0].takes_part && first.members[1].takes_part && first.members[2].outside);
  EXPECT_EQ(first.members[0].came_ns, 1000 * kMs);
  EXPECT_EQ(first.members[1].came_ns, 1200 * kMs);
  EXPECT_EQ(first.members[1].to_ns, 1400 * kMs) << "as its host saw it";
  EXPECT_TRUE(second.members[0].outside && second.members[1].takes_part && second.members[2].takes_part);
  EXPECT_EQ(second.members[2].came_ns, 1100 * kMs) << "beside the first, and not behind it";
  EXPECT_EQ(collective_text(all[2].collective, lost), "#2 Send float32×512 to 2");
  EXPECT_TRUE(lost.members[0].takes_part && lost.members[1].outside);
  EXPECT_TRUE(lost.members[2].absent && !lost.members[2].outside) << "a hole where it should be received";
  CollectiveSummary told = summary_of(reader->communicators()[0], all[0].collective, first, 16);
  EXPECT_EQ(told.members.size(), 2u) << "rank 2 has nothing to do with it";
}

TEST(Messages, StandBelowTheCollectivesOfTheirCommunicator) {
  tests::TemporaryFolder folder;
  auto reader = tests::open_text(
      processes(2,
                "  r$r 1.000 +0.001 ncclAllReduce communicator=1 count=4K datatype=f32 stream=0x7\n"
                "  r$r 1.010 +0.050 cudaStreamSynchronize stream=0x7\n"
                "  r$r 1.300 +0.050 cudaStreamSynchronize stream=0x7\n") +
          message("ncclSend", 0, 1.100, 1, 1024) + message("ncclRecv", 1, 1.200, 0, 512),
      folder);
  ASSERT_TRUE(reader);
  EXPECT_EQ(names_of(*reader), (std::vector<std::string>{"world", "world: send, recv"}));
  auto collectives = all_of(*reader, 0), messages = all_of(*reader, 1);
  ASSERT_EQ(collectives.size(), 1u);
  EXPECT_FALSE(collectives[0].shape.message);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_TRUE(messages[0].collective.flags & merged::kMismatched) << "their sizes differ";
  EXPECT_EQ(member_text(messages[0].collective, messages[0].shape, 1), "#0 Recv float32×512 from 0");
}

// One process, four devices: each rank's row has what concerns its communicator and its device.
TEST(SharedProcess, EachRankHasItsOwnWork) {
  tests::TemporaryFolder folder;
  auto reader = tests::open_text(
      "process p rank=0 world=4 until=4\n"
      "p 1.000 +0.001 ncclGroupStart\n"
      "for r in 0..3 {\n"
      "  p 0.10$r +0.050 ncclCommInitAll communicator=${r+1} id=0xabc rank=$r size=4 device=$r\n"
      "  p 1.01$r +0.0001 ncclAllReduce communicator=${r+1} count=4K datatype=f32 stream=0x${r+1} device=$r\n"
      "  p 1.15$r +0.010 gpu kind=collective communicator=${r+1} device=$r stream=${r+7} thread=1 "
      "called=1.01$r\n"
      "  p 1.20$r +0.0001 cudaStreamSynchronize stream=0x${r+1} device=$r\n"
      "}\n"
      "p 1.100 +0.001 ncclGroupEnd\n"
      "p 1.500 +0.001 open path=\"/data/x\" flags=rdonly file=1\n",
      folder);
  ASSERT_TRUE(reader);
  ASSERT_EQ(reader->ranks().size(), 4u);
  for (std::uint32_t r = 0; r < 4; ++r) {
    const merged::RankRow& rank = reader->ranks()[r];
    EXPECT_EQ(rank.device, fmt::format("cuda:{}", r));
    std::multiset<std::string> names;
    for (std::uint32_t track = rank.first_track; track < rank.first_track + rank.tracks; ++track)
      for (std::uint64_t i = 0; i < reader->tracks()[track].events; ++i)
        names.emplace(reader->names()[reader->event({track, i}).name].text);
    std::multiset<std::string> expected{"ncclCommInitAll", "ncclAllReduce", "all-reduce",
                                        "cudaStreamSynchronize"};
    if (r == 0) expected.insert({"ncclGroupStart", "ncclGroupEnd", "open"});
    EXPECT_EQ(names, expected) << "rank " << r;
  }
  auto collectives = reader->collectives(0, 0, 1);
  ASSERT_TRUE(collectives);
  for (std::uint32_t r = 0; r < 4; ++r) {
    merged::EventPlace call = collectives->front().arrivals[r].event;
    EXPECT_EQ(reader->tracks()[call.track].rank_row, r);
  }
  // What the group's end enqueued stands in all four rows, and so does what enqueued the work of a device.
  for (std::uint32_t track = 0; track < reader->tracks().size(); ++track)
    for (std::uint64_t i = 0; i < reader->tracks()[track].events; ++i) {
      auto detail = reader->detail({track, i});
      ASSERT_TRUE(detail);
      std::string_view name = reader->names()[detail->event.name].text;
      if (name == "ncclGroupEnd") {
        ASSERT_EQ(detail->collectives.size(), 1u);
        EXPECT_EQ(detail->collectives[0].communicator, 0u);
      }
      if (name == "all-reduce") {
        EXPECT_EQ(reader->names()[reader->event(detail->enqueued_by).name].text, "ncclAllReduce");
      }
    }
}

// On Gloo no device runs anything: what PyTorch's threads and the program's do is all that there is to see.
TEST(ProcessGroups, CallsRunsWaitsAndPassesStandOnTheTimeLine) {
  tests::TemporaryFolder folder;
  auto reader = tests::open_text(
      "for r in 0..1 {\n"
      "  process r$r rank=$r world=2 until=4\n"
      "  r$r 0.100 +0.050 c10d_group communicator=1 id=0xabc name=\"default_pg/0\" backend=\"gloo\" rank=$r "
      "size=2\n"
      "}\n"
      "for k in 0..2 every 0.1 {\n"
      "  r* 1.000 +0.010 module_forward name=\"DistributedDataParallel.forward\"\n"
      "  r* 1.020 +0.030 autograd_backward flags=accumulate\n"
      "  r* 1.030 +0.001 c10d_allreduce communicator=1 count=4K datatype=f32 reduction=sum peer=-1 "
      "flags=reducer|asynchronous\n"
      "  r*/2 1.031 +0.010 c10d_run communicator=1 sequence=$k\n"
      "  r* 1.032 +0.010 reducer_finish object=0x10\n"
      "  r* 1.060 +0.002 optimizer_step name=\"Optimizer.step#SGD.step\"\n"
      "}\n"
      "r* 2.000 +0.001 c10d_barrier communicator=1\n"
      "r* 2.002 +0.010 c10d_wait communicator=1\n",
      folder);
  ASSERT_TRUE(reader);
  using merged::Kind;
  using merged::TrackKind;
  std::map<std::tuple<TrackKind, Kind, std::string>, int> seen;
  const merged::RankRow& rank = reader->ranks()[0];
  for (std::uint32_t track = rank.first_track; track < rank.first_track + rank.tracks; ++track)
    for (std::uint64_t i = 0; i < reader->tracks()[track].events; ++i) {
      const auto& name = reader->names()[reader->event({track, i}).name];
      ++seen[{reader->tracks()[track].kind, name.kind, std::string(name.text)}];
    }
  const decltype(seen) expected{{{TrackKind::kSteps, Kind::kStep, "step"}, 3},
                                {{TrackKind::kRanges, Kind::kRange, "DistributedDataParallel.forward"}, 3},
                                {{TrackKind::kRanges, Kind::kRange, "autograd_backward"}, 3},
                                {{TrackKind::kRanges, Kind::kRange, "Optimizer.step#SGD.step"}, 3},
                                {{TrackKind::kHost, Kind::kCollective, "c10d_group"}, 1},
                                {{TrackKind::kHost, Kind::kCollective, "c10d_allreduce"}, 3},
                                {{TrackKind::kHost, Kind::kCollective, "c10d_run"}, 3},
                                {{TrackKind::kHost, Kind::kWait, "reducer_finish"}, 3},
                                {{TrackKind::kHost, Kind::kBarrier, "c10d_barrier"}, 1},
                                {{TrackKind::kHost, Kind::kWait, "c10d_wait"}, 1}};
  EXPECT_EQ(seen, expected);
}

}  // namespace
}  // namespace ddpscope::viewer
