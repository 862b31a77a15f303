// Which findings explain that a job failed.
#include "collector/attribution/explain_failure.h"

#include <gtest/gtest.h>

#include "collector/attribution/attribute.h"

namespace ddpscope::attribution {
namespace {

using findings::Finding;
using findings::JobFailure;
using findings::Severity;
using Ids = std::vector<std::string>;

Finding make(const std::string& slug, std::vector<std::int32_t> ranks, std::int64_t from_ns,
             std::int64_t to_ns) {
  Finding finding;
  finding.slug = finding.id = slug;
  finding.ranks = ranks;
  finding.place = {ranks, from_ns, to_ns};
  finding.first_ns = from_ns;
  finding.last_ns = to_ns;
  return finding;
}

std::vector<std::string> explain_failure_of_rank_1(const std::vector<Finding>& found) {
  JobFailure failure{{1}, 1, 50, "rank 1 exited with 1", {}};
  explain(found, failure);
  return failure.explained_by;
}

TEST(ExplainFailure, AFindingOfItsRankInWhosePlaceItEndsExplainsIt) {
  EXPECT_EQ(explain_failure_of_rank_1({make("mismatched-collective", {0, 1}, 10, 100)}),
            Ids{"mismatched-collective"});
  EXPECT_EQ(explain_failure_of_rank_1({make("mismatched-collective", {0, 2}, 10, 100)}), Ids{});
  EXPECT_EQ(explain_failure_of_rank_1({make("missing-barrier", {0, 1}, 10, 40)}), Ids{})
      << "the ranks have met since";
  EXPECT_EQ(explain_failure_of_rank_1({make("missing-barrier", {0, 1}, 60, 100)}), Ids{})
      << "it had not begun";
}

TEST(ExplainFailure, PeersWaitForWhoEndedLaterOn) {
  EXPECT_EQ(explain_failure_of_rank_1({make("hung-collective", {1}, 60, 100)}), Ids{"hung-collective"});
}

TEST(ExplainFailure, WhatOnlyCostsTimeEndsNoJob) {
  for (const char* slug :
       {"straggler", "slow-checkpoint", "redundant-accumulation-sync", "unsharded-sampler"})
    EXPECT_EQ(explain_failure_of_rank_1({make(slug, {0, 1}, 10, 100)}), Ids{}) << slug;
}

TEST(ExplainFailure, TheMildFormOfAKindEndsNoJob) {
  Finding duplicate = make("duplicate-checkpoint-write", {0, 1}, 10, 100);
  EXPECT_EQ(explain_failure_of_rank_1({duplicate}), Ids{duplicate.slug});
  duplicate.severity = Severity::kWarning;
  EXPECT_EQ(explain_failure_of_rank_1({duplicate}), Ids{});
  Finding unsure = make("missing-barrier", {0, 1}, 10, 100);
  unsure.severity = Severity::kWarning;
  unsure.confidence = findings::Confidence::kLikely;
  EXPECT_EQ(explain_failure_of_rank_1({unsure}), Ids{unsure.slug}) << "less certain, not milder";
}

TEST(ExplainFailure, WhatEndedARankIsNotHiddenUnderWhatIsHarmless) {
  auto found = [](Severity severity) {
    std::vector<Finding> two = {make("duplicate-checkpoint-write", {0, 1}, 10, 100),
                                make("checkpoint-race", {0, 1}, 20, 100)};
    two[0].severity = severity;
    two[1].ended = {1};
    attribute(two);
    return two;
  };
  std::vector<Finding> apart = found(Severity::kWarning);
  ASSERT_EQ(apart.size(), 2u);
  EXPECT_EQ(apart[0].slug, "checkpoint-race") << "it leads";
  EXPECT_EQ(explain_failure_of_rank_1(apart), Ids{apart[0].id});
  std::vector<Finding> folded = found(Severity::kError);
  ASSERT_EQ(folded.size(), 1u);
  EXPECT_EQ(folded[0].slug, "duplicate-checkpoint-write");
  EXPECT_EQ(folded[0].ended, std::set<std::int32_t>{1}) << "a cause takes over whom it ended";
}

}  // namespace
}  // namespace ddpscope::attribution
