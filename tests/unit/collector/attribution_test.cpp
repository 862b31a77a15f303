// Which finding becomes whose consequence.
#include "collector/attribution/attribute.h"

#include <gtest/gtest.h>

#include <map>

namespace ddpscope::attribution {
namespace {

using findings::Finding;
using findings::Severity;

Finding make(const std::string& slug, std::vector<std::int32_t> ranks, std::int64_t from, std::int64_t to) {
  Finding finding;
  finding.slug = slug;
  finding.ranks = ranks;
  finding.place = {ranks, from, to};
  finding.first_ns = from;
  finding.last_ns = to;
  return finding;
}

TEST(Attribution, AConsequenceInTheSamePlaceIsFoldedIntoItsCause) {
  std::vector<Finding> found = {make("hung-collective", {0, 1}, 10, 100),
                                make("skipped-barrier", {0, 1}, 10, 100)};
  attribute(found);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].slug, "skipped-barrier");
  EXPECT_EQ(found[0].consequences, std::vector<std::string>{"hung-collective"});
}

TEST(Attribution, ChainsEndAtTheirRoot) {
  std::vector<Finding> found = {
      make("hung-collective", {1}, 10, 100), make("mismatched-collective", {1}, 10, 100),
      make("divergent-existence-check", {1}, 5, 100), make("skipped-barrier", {1}, 10, 100)};
  attribute(found);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].slug, "divergent-existence-check");
  EXPECT_EQ(found[0].consequences.size(), 3u);
}

TEST(Attribution, AnotherPlaceOrOtherRanksIsAnotherBug) {
  std::vector<Finding> elsewhere = {make("hung-collective", {0}, 200, 300),
                                    make("skipped-barrier", {0}, 10, 100)};
  attribute(elsewhere);
  EXPECT_EQ(elsewhere.size(), 2u);
  std::vector<Finding> others = {make("hung-collective", {2, 3}, 10, 100),
                                 make("skipped-barrier", {0, 1}, 10, 100)};
  attribute(others);
  EXPECT_EQ(others.size(), 2u);
}

TEST(Attribution, WhatConcernsFilesExplainsWhatHappensToThem) {
  auto pair = [](const std::string& cause, const std::string& effect) {
    std::vector<Finding> found = {make("duplicate-checkpoint-write", {0, 1}, 10, 100),
                                  make("missing-barrier", {0, 1}, 10, 100)};
    found[0].place.its_files_only = true;
    found[0].files = {cause};
    if (!effect.empty()) found[1].files = {effect};
    attribute(found);
    return found.size();
  };
  EXPECT_EQ(pair("/ckpt/1/model", "/ckpt/1/model"), 1u);
  EXPECT_EQ(pair("/ckpt/1/model", "/ckpt/1/optimizer"), 1u) << "of one folder";
  EXPECT_EQ(pair("/ckpt/1/model", "/ckpt/1"), 1u) << "the folder itself";
  EXPECT_EQ(pair("/ckpt/1/model", "/data/train"), 2u);
  EXPECT_EQ(pair("/ckpt", "/data"), 2u) << "the root of all is no folder of a checkpoint";
  EXPECT_EQ(pair("/ckpt/1/model", ""), 1u) << "of no file: as anywhere";
}

TEST(Attribution, WhatIsOverBeforeFilesAreTouchedIsAnotherBug) {
  std::vector<Finding> found = {make("duplicate-checkpoint-write", {0, 1}, 10, 100),
                                make("missing-barrier", {0, 1}, 10, 100)};
  found[0].place.its_files_only = true;
  found[0].files = {"out/model.pt"};
  found[0].first_ns = 60;
  found[1].files = {"out/manifest.json"};
  found[1].last_ns = 50;
  attribute(found);
  EXPECT_EQ(found.size(), 2u);
}

TEST(Attribution, AConsequenceLendsItsSeverity) {
  std::vector<Finding> found = {make("hung-collective", {1}, 10, 100), make("uneven-steps", {1}, 10, 100)};
  found[1].severity = Severity::kWarning;
  attribute(found);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, Severity::kError);
}

TEST(Attribution, TheSameBugTwiceIsCountedAndKeepsItsId) {
  std::vector<Finding> twice = {make("straggler", {1}, 10, 20), make("straggler", {1}, 30, 40)};
  std::vector<Finding> once = {make("straggler", {1}, 500, 600)};
  attribute(twice);
  attribute(once);
  ASSERT_EQ(twice.size(), 1u);
  EXPECT_EQ(twice[0].count, 2u);
  EXPECT_EQ(twice[0].last_ns, 40);
  EXPECT_EQ(twice[0].id, once[0].id);
}

// By the text of each key, as attribution orders them otherwise.
std::map<std::string, std::string> ids_of(const std::vector<std::string>& keys) {
  std::vector<Finding> found;
  for (const std::string& key : keys) {
    found.push_back(make("straggler", {1}, 10, 20));
    found.back().key = key;
  }
  attribute(found);
  std::map<std::string, std::string> ids;
  for (const Finding& finding : found) ids[finding.key] = finding.id;
  return ids;
}

TEST(Attribution, AnIdStaysWhereLinesMove) {
  auto id = [](const std::string& key) { return ids_of({key}).at(key); };
  EXPECT_EQ(id("train.py:8 main"), id("train.py:9 main"));
  EXPECT_NE(id("train.py:8 main"), id("train.py:8 step"));
  EXPECT_NE(id("train.py:8 main"), id("test.py:8 main"));
}

TEST(Attribution, BugsThatDifferInTheirLinesAloneAreNumbered) {
  auto ids = ids_of({"train.py:30 main", "train.py:8 main", "train.py:8 step"});
  EXPECT_NE(ids["train.py:8 main"], ids["train.py:30 main"]);
  EXPECT_NE(ids["train.py:8 main"], ids["train.py:8 step"]);
  auto moved = ids_of({"train.py:11 step", "train.py:11 main", "train.py:101 main"});
  EXPECT_EQ(moved["train.py:11 main"], ids["train.py:8 main"]);
  EXPECT_EQ(moved["train.py:101 main"], ids["train.py:30 main"]) << "by number: 101 comes after 11";
  EXPECT_EQ(ids_of({"train.py:30 main"})["train.py:30 main"], ids["train.py:8 main"]);
}

TEST(Attribution, WorstFirstThenByTime) {
  std::vector<Finding> found = {make("straggler", {1}, 10, 20), make("shared-device", {2}, 90, 99),
                                make("unsharded-sampler", {3}, 50, 60)};
  found[0].severity = Severity::kWarning;
  attribute(found);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].slug, "unsharded-sampler");
  EXPECT_EQ(found[1].slug, "shared-device");
  EXPECT_EQ(found[2].slug, "straggler");
}

}  // namespace
}  // namespace ddpscope::attribution
