// The report for people: what each finding must say, and that nothing from a trace reaches the terminal raw.
#include <gmock/gmock.h>

#include "collector/reports/phrases.h"
#include "collector/reports/report.h"

namespace ddpscope::reports {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

findings::Finding skipped() {
  findings::Finding finding;
  finding.slug = "skipped-barrier";
  finding.title = "rank 1 does not run the barrier";
  finding.ranks = {1, 3};
  finding.first_ns = 1'500'000'000;
  finding.last_ns = 4'000'000'000;
  finding.advice = "Let every rank run it.";
  finding.id = "0123456789abcdef";
  finding.evidence.push_back(
      {1, "node1:77", 1'500'000'000, "ncclAllReduce", "barrier", "", {"train.py:88 prepare"}});
  return finding;
}

std::string report_of(const findings::Finding& finding) {
  findings::Outcome outcome;
  outcome.findings.push_back(finding);
  return text_report({}, outcome);
}

TEST(TextReport, SaysWhoWhenWhereAndWhatToDo) {
  std::string text = report_of(skipped());
  for (const char* part : {"error: skipped-barrier (certain)\n", "rank 1 does not run the barrier", "1, 3",
                           "1.500000 s to 4.000000 s", "1.500000 s rank 1 (node1:77) ncclAllReduce: barrier",
                           "at train.py:88 prepare", "Let every rank run it.", "0123456789abcdef"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, Not(HasSubstr("cost"))) << "nothing is known of it";
}

TEST(TextReport, CostIsPerStepOrTheTimeThatAJobStandsStill) {
  findings::Finding finding = skipped();
  finding.cost = {12.5, 4096};
  EXPECT_THAT(report_of(finding), HasSubstr("12.5 ms a step, 4096 bytes a step"));
  finding.cost = {};
  finding.consequences = {"hung-collective"};
  EXPECT_THAT(report_of(finding), HasSubstr("the job goes no further: 2.5 s lost until it ended"));
}

TEST(AdviceParts, CodeStandsBetweenTwoBackticks) {
  auto told = [](std::string_view advice) {
    std::string text;
    for (const AdvicePart& part : advice_parts(advice))
      text += (part.code ? "<" : "(") + std::string(part.text) + (part.code ? ">" : ")");
    return text;
  };
  EXPECT_EQ(told("one: `a(b)`, then `c`"), "(one: )<a(b)>(, then )<c>");
  EXPECT_EQ(told("`a` it"), "<a>( it)");
  EXPECT_EQ(told("a ` alone"), "(a ` alone)");
  EXPECT_EQ(told("`a` and ` alone"), "<a>( and ` alone)");
  EXPECT_EQ(told(""), "");
}

TEST(TextReport, SaysHowOftenAndHowManyOfTheseAreShown) {
  findings::Finding finding = skipped();
  EXPECT_THAT(report_of(finding), HasSubstr("to 4.000000 s\n"));
  finding.count = 3;
  EXPECT_THAT(report_of(finding), HasSubstr(", 3 times; one is shown\n"));
  finding.shown = 2;
  EXPECT_THAT(report_of(finding), HasSubstr(", 3 times; 2 are shown\n"));
  finding.shown = 3;
  EXPECT_THAT(report_of(finding), HasSubstr(", 3 times\n"));
}

TEST(TextReport, NamesFilesAndSaysHowManyMore) {
  findings::Finding finding = skipped();
  finding.files = {"/only"};
  EXPECT_THAT(report_of(finding), Not(HasSubstr("/only"))) << "the evidence has it";
  for (int i = 10; i < 22; ++i) finding.files.insert("/file_" + std::to_string(i));
  EXPECT_THAT(report_of(finding), HasSubstr("  files     /file_10\n            /file_11\n"));
  EXPECT_THAT(report_of(finding), HasSubstr("/file_17\n            and 5 more: --format json lists them\n"));
}

TEST(TextReport, OfNamesWithoutEndTheBeginningIsShown) {
  findings::Finding finding = skipped();
  finding.evidence[0].stack = {"train.cpp:88 reduce<" + std::string(60'000, 'x') + ">"};
  EXPECT_THAT(report_of(finding), HasSubstr("at train.cpp:88 reduce<…>\n"));
}

TEST(TextReport, OfManyRanksRunsAreShown) {
  findings::Finding finding = skipped();
  finding.ranks = {0, 1, 2, 3, 5, 6, 7, 8};
  EXPECT_THAT(report_of(finding), HasSubstr("ranks     0, 1, 2, 3, 5, 6, 7, 8\n"));
  finding.ranks.push_back(10);
  EXPECT_THAT(report_of(finding), HasSubstr("ranks     0-3, 5-8, 10\n"));
  for (std::int32_t rank = 20; rank < 1000; rank += 2) finding.ranks.push_back(rank);
  EXPECT_THAT(report_of(finding), HasSubstr("ranks     0-3, 5-8, 10, 20, 22, 24, 26, 28, … (499)\n"));
}

TEST(TextReport, OnlyTheProgramsOwnFramesAreShown) {
  findings::Finding finding = skipped();
  finding.evidence[0].stack = {"/usr/lib/python3.11/threading.py:5 run", "train.py:9 main"};
  EXPECT_THAT(report_of(finding), HasSubstr("at train.py:9 main"));
  EXPECT_THAT(report_of(finding), Not(HasSubstr("threading.py")));
}

TEST(TextReport, WhatComesFromTheTraceCannotSteerATerminal) {
  findings::Finding finding = skipped();
  finding.title = "\x1b]0;title\x07";
  finding.evidence[0].file = "a\nerror: forged";
  finding.evidence[0].stack = {"\x1b[2J"};
  std::string text = report_of(finding);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_THAT(text, HasSubstr("a\\nerror: forged"));
}

TEST(TextReport, SilenceIsSaidInWords) {
  std::string text = text_report({}, {});
  EXPECT_THAT(text, HasSubstr("nothing found\n"));
  EXPECT_THAT(text, HasSubstr("what this trace cannot show\n  - nothing is missing\n"));
}

}  // namespace
}  // namespace ddpscope::reports
