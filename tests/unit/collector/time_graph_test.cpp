// Longest paths, and what is fitted to them, in graphs that can be done in the head.
#include "collector/patterns/time_graph.h"

#include <gtest/gtest.h>

namespace ddpscope::patterns {
namespace {

using Point = TimeGraph::Point;

// 100 launches and, begun after half of them, 30 ns of communication; the end waits for both.
TimeGraph overlapped(double link_ns) {
  TimeGraph graph;
  Point begin = graph.add();
  Point half = graph.add_after(begin, {0, 50});
  Point end = graph.add_after(half, {0, 50});
  graph.put_after(end, half, {0, 0, link_ns});
  EXPECT_TRUE(graph.sort());
  return graph;
}

TEST(TimeGraph, IsAsLongAsItsLongestPath) {
  TimeGraph graph = overlapped(30);
  EXPECT_DOUBLE_EQ(graph.length_ns({1, 1}), 100);   // hidden
  EXPECT_DOUBLE_EQ(graph.length_ns({0.2, 1}), 40);  // not hidden
  EXPECT_DOUBLE_EQ(graph.length_ns({0, 0.5}), 15);
}

TEST(TimeGraph, PointsMayBeOrderedLater) {
  TimeGraph graph;
  Point begin = graph.add(), last = graph.add(), first = graph.add();
  graph.put_after(last, first, {5});
  graph.put_after(first, begin, {7});
  ASSERT_TRUE(graph.sort());
  EXPECT_DOUBLE_EQ(graph.length_ns({}), 12);
}

TEST(TimeGraph, ACircleHasNoLength) {
  TimeGraph graph;
  Point begin = graph.add(), one = graph.add_after(begin), other = graph.add_after(one);
  graph.put_after(one, other);
  EXPECT_FALSE(graph.sort());
}

TEST(TimeGraph, TheTimeOfALaunchIsFitted) {
  EXPECT_NEAR(fit_rates(overlapped(30), 200, 0).ns_per_launch, 2, 1e-6);
  EXPECT_NEAR(fit_rates(overlapped(30), 40, 0).ns_per_launch, 0.2, 1e-6);
}

TEST(TimeGraph, WhatIsTooLongByItselfIsTheLink) {
  Rates rates = fit_rates(overlapped(30), 15, 0);
  EXPECT_DOUBLE_EQ(rates.ns_per_launch, 0);
  EXPECT_NEAR(rates.link_scale, 0.5, 1e-6);
}

// A host that takes 100 ns by itself says nothing of kernels that it does not wait for.
TEST(TimeGraph, WhereTheHostTakesAllKernelsAreShort) {
  TimeGraph graph;
  Point begin = graph.add();
  graph.add_after(begin, {100});
  graph.add_after(begin, {0, 10});
  ASSERT_TRUE(graph.sort());
  EXPECT_DOUBLE_EQ(fit_rates(graph, 101, 0.02).ns_per_launch, 0);
  EXPECT_NEAR(fit_rates(graph, 200, 0).ns_per_launch, 20, 1e-6);
}

}  // namespace
}  // namespace ddpscope::patterns
