// Formats for other programs: whatever a trace holds is text in them, and each finding is where it belongs.
#include "collector/reports/format.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "collector/findings/catalogue.h"
#include "collector/reports/code_location.h"

namespace ddpscope::reports {
namespace {

using findings::Severity;
using ::testing::HasSubstr;
using ::testing::Not;

// What terminals, HTML, XML, Markdown and JSON obey, and what is no UTF-8.
const char* const kHostile = "<b>&amp;\"'\x1b[31m]]>\xff`*_[a](b)|@all\n\\";

class Reports : public testing::Test {
 protected:
  Reports() {
    findings::Finding finding;
    finding.slug = "skipped-barrier";
    finding.title = std::string("rank 1 skips ") + kHostile;
    finding.ranks = {1};
    finding.id = "0123456789abcdef";
    finding.advice = "Let every rank run it.";
    finding.evidence = {{0, "node1:76", 1, "ncclAllReduce", kHostile, kHostile, {"/src/peer.py:5 wait"}},
                        {1, "node1:77", 2, "ncclBroadcast", "", "", {"/src/my job/train.py:88 prepare"}}};
    outcome_.findings.push_back(finding);
    outcome_.coverage.push_back({"samples", kHostile, {"unsharded-sampler"}, true});
    outcome_.coverage.push_back({"steps", "too few", {"straggler"}, false});
    job_.ranks = 2;
  }

  std::string write(std::string_view format) {
    return find_format(format)->write({job_, outcome_, "1.2.3", fail_from_, false, {}, "/src"});
  }
  pugi::xml_node junit(const char* slug) {
    document_.reset();
    EXPECT_TRUE(document_.load_string(write("junit").c_str()));
    return document_.child("testsuites").child("testsuite").find_child_by_attribute("testcase", "name", slug);
  }

  JobFacts job_;
  findings::Outcome outcome_;
  std::optional<Severity> fail_from_ = Severity::kError;
  pugi::xml_document document_;
};

TEST_F(Reports, NoControlCharactersNorBrokenText) {
  for (const Format& format : formats()) {
    std::string text = format.write({job_, outcome_, "1.2.3", fail_from_, false, {}, "/src"});
    EXPECT_THAT(text, Not(HasSubstr("\x1b"))) << format.name;
    EXPECT_THAT(text, Not(HasSubstr("\xff"))) << format.name;
    EXPECT_THAT(text, HasSubstr("0123456789abcdef")) << format.name;
  }
}

TEST_F(Reports, SarifPointsAtThePythonFrameOfTheRankAtFault) {
  auto log = nlohmann::json::parse(write("sarif"));
  auto run = log["runs"][0];
  auto result = run["results"][0];
  auto place = result["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "my%20job/train.py");
  EXPECT_EQ(place["artifactLocation"]["uriBaseId"], "%SRCROOT%");
  EXPECT_EQ(place["region"]["startLine"], 88);
  EXPECT_EQ(result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"], "prepare");
  EXPECT_EQ(run["tool"]["driver"]["rules"][result["ruleIndex"].get<int>()]["id"], "skipped-barrier");
  EXPECT_EQ(result["level"], "error");
  EXPECT_EQ(result["partialFingerprints"]["ddpscopeFinding/v1"], "0123456789abcdef");
  EXPECT_EQ(result["codeFlows"][0]["threadFlows"].size(), 2u) << "one a rank";
  EXPECT_EQ(run["invocations"][0]["toolExecutionNotifications"].size(), 2u);
}

TEST_F(Reports, SarifNamesFilesElsewhereWholly) {
  outcome_.findings[0].evidence[1].stack = {"/opt/train.py:3 main"};
  auto result = nlohmann::json::parse(write("sarif"))["runs"][0]["results"][0];
  auto file = result["locations"][0]["physicalLocation"]["artifactLocation"];
  EXPECT_EQ(file["uri"], "file:///opt/train.py");
  EXPECT_FALSE(file.contains("uriBaseId"));
}

TEST_F(Reports, JunitFailsSkipsAndPasses) {
  EXPECT_TRUE(junit("skipped-barrier").child("failure"));
  EXPECT_TRUE(junit("unsharded-sampler").child("skipped"));
  EXPECT_THAT(junit("straggler").child("system-out").text().get(), HasSubstr("judged in part only"));
  EXPECT_FALSE(junit("shared-device").first_child());
  auto suite = document_.child("testsuites").child("testsuite");
  EXPECT_EQ(suite.attribute("tests").as_uint(), findings::catalogue().size());
  EXPECT_EQ(suite.attribute("failures").as_uint(), 1u);
  EXPECT_EQ(suite.attribute("skipped").as_uint(), 1u);
}

TEST_F(Reports, JunitFailsFromTheSeverityThatIsAskedFor) {
  outcome_.findings[0].severity = Severity::kWarning;
  EXPECT_FALSE(junit("skipped-barrier").child("failure"));
  EXPECT_THAT(junit("skipped-barrier").child("system-out").text().get(), HasSubstr("rank 1 skips"));
  fail_from_ = Severity::kWarning;
  EXPECT_TRUE(junit("skipped-barrier").child("failure"));
  fail_from_.reset();
  EXPECT_FALSE(junit("skipped-barrier").child("failure"));
}

TEST_F(Reports, JunitHasOnlyWhatWasLookedFor) {
  outcome_.only = {"skipped-barrier"};
  EXPECT_TRUE(junit("skipped-barrier"));
  EXPECT_FALSE(junit("straggler"));
}

TEST_F(Reports, MarkdownBlocksEndWhereTheyShould) {
  outcome_.findings[0].evidence[0].detail = "```` </details>";
  EXPECT_THAT(write("markdown"), HasSubstr("`````text\n"));
}

TEST(CodeLocation, OfAFindingIsThePlaceThatItsTitleNames) {
  findings::Finding finding;
  finding.ranks = {1};
  finding.evidence = {{0,
                       "node1:76",
                       1,
                       "ncclAllReduce",
                       "",
                       "",
                       {"group.cpp:60 all_reduce", "buckets.cpp:8 flush", "buckets.cpp:83 reduce"}}};
  EXPECT_EQ(location_of(finding)->line, 60);
  finding.title = "rank 0 waits at buckets.cpp:83 reduce; rank 1 never came";
  EXPECT_EQ(location_of(finding)->line, 83);
}

TEST(CodeLocation, WhatTheCompilerOfKernelsMakesIsNotTheProgram) {
  findings::Evidence evidence{
      0,
      "node1:76",
      1,
      "__cudaLaunchKernel",
      "",
      "",
      {"device_functions.h:2963 __cudaLaunchKernel_helper",
       "tmpxft_00002427_00000000-6_kernels.cudafe1.stub.c:1 __device_stub__adamw", "kernels.cu:58 adamw"}};
  EXPECT_EQ(location_of(evidence)->file, "kernels.cu");
  EXPECT_FALSE(findings::is_library_frame("/src/my_device_functions.h:12 scale"));
}

TEST(CodeLocation, FileAndLineOfAFrame) {
  auto frame = parse_frame("/a b:c/train.py:12 Trainer.fit");
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->file, "/a b:c/train.py");
  EXPECT_EQ(frame->line, 12);
  EXPECT_EQ(frame->function, "Trainer.fit");
  EXPECT_EQ(parse_frame("data.cpp:9 ns::load(int)")->file, "data.cpp");
  EXPECT_EQ(parse_frame("data.cpp:9")->line, 9);
  for (const char* none :
       {"libnccl.so+0x12", "", ":3", "a.py:0 f", "a.py:x f", "a.py:99999999999999999999 f"})
    EXPECT_FALSE(parse_frame(none)) << none;
}

}  // namespace
}  // namespace ddpscope::reports
