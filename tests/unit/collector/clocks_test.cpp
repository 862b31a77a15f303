// What the clocks know, and that they end whatever the edges say.
#include "collector/ordering/clocks.h"

#include <gtest/gtest.h>

namespace ddpscope::ordering {
namespace {

constexpr ThreadId kWriter{0, 1}, kRelay{1, 1}, kReader{2, 1};

TEST(Clocks, KnowUpToTheReleaseAndOnlyAfterTheAcquire) {
  Graph graph;
  graph.edge(graph.moment(kWriter, 10), graph.after({kReader, 15, 20}), EdgeKind::kMessage);
  graph.finish();
  Clocks clocks(graph, {kWriter, kReader}, Trust::kSeen);
  EXPECT_EQ(clocks.known(kWriter, kReader, 19), Clocks::kNothing);
  EXPECT_EQ(clocks.known(kWriter, kReader, 20), 10);
  EXPECT_EQ(clocks.known(kReader, kWriter, 99), Clocks::kNothing);
}

TEST(Clocks, PassThroughThreadsThatNobodyAsksAbout) {
  Graph graph;
  graph.edge(graph.moment(kWriter, 10), graph.after({kRelay, 11, 12}), EdgeKind::kMessage);
  graph.edge(graph.before({kRelay, 13, 14}), graph.after({kReader, 13, 16}), EdgeKind::kMessage);
  graph.finish();
  Clocks clocks(graph, {kWriter, kReader}, Trust::kSeen);
  EXPECT_EQ(clocks.known(kWriter, kReader, 16), 10);
}

TEST(Clocks, FollowEdgesAsFarAsTheyAreTrusted) {
  Graph graph;
  graph.edge(graph.moment(kWriter, 10), graph.moment(kReader, 20), EdgeKind::kHandOver, Trust::kAssumed);
  graph.edge(graph.moment(kWriter, 15), graph.moment(kReader, 20), EdgeKind::kHandOver, Trust::kUnseen);
  graph.finish();
  auto known = [&](Trust trust) {
    return Clocks(graph, {kWriter, kReader}, trust).known(kWriter, kReader, 20);
  };
  EXPECT_EQ(known(Trust::kSeen), Clocks::kNothing);
  EXPECT_EQ(known(Trust::kAssumed), 10);
  EXPECT_EQ(known(Trust::kUnseen), 15);
}

TEST(Clocks, ACallThatTouchesTheNextComesBeforeIt) {
  Graph graph;
  Node told = graph.after({kRelay, 5, 10});
  Node tells = graph.before({kRelay, 10, 12});
  graph.edge(graph.moment(kWriter, 1), told, EdgeKind::kMessage);
  graph.edge(tells, graph.after({kReader, 3, 20}), EdgeKind::kMessage);
  graph.finish();
  EXPECT_EQ(Clocks(graph, {kWriter, kReader}, Trust::kSeen).known(kWriter, kReader, 20), 1);
}

TEST(Clocks, EndAndSayItWhenEdgesGoInACircle) {
  Graph graph;
  Node a = graph.moment(kWriter, 10), b = graph.moment(kReader, 20);
  graph.edge(a, b, EdgeKind::kMessage);
  graph.edge(b, a, EdgeKind::kMessage);
  graph.finish();
  Clocks clocks(graph, {kWriter, kReader}, Trust::kSeen);
  EXPECT_TRUE(clocks.contradictory());
  EXPECT_EQ(clocks.known(kWriter, kReader, 20), 10);
}

}  // namespace
}  // namespace ddpscope::ordering
