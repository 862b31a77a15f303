// What is known of findings, read from files that people write and programs made.
#include "collector/gate/known_findings.h"

#include <gmock/gmock.h>

namespace ddpscope::gate {
namespace {

using findings::Finding;
using findings::KnownBy;
using std::chrono::year_month_day;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr year_month_day kToday = 2026y / 11 / 27;

findings::Outcome found() {
  findings::Outcome outcome;
  outcome.findings.resize(2);
  outcome.findings[0].slug = "skipped-barrier", outcome.findings[0].id = "0123456789abcdef";
  outcome.findings[1].slug = "straggler", outcome.findings[1].id = "fedcba9876543210";
  return outcome;
}

std::vector<Suppression> suppressions(std::string_view text) {
  auto parsed = parse_suppressions(text);
  EXPECT_TRUE(parsed) << parsed.error().what;
  return parsed ? *parsed : std::vector<Suppression>();
}

TEST(Suppressions, MatchByIdAndBySlug) {
  auto outcome = found();
  auto rules = suppressions(
      "# of the data team\n\n0123456789abcdef 2026-11-27 until their fix # ours\r\nstraggler\tnever  slow "
      "rack\n");
  EXPECT_TRUE(apply(rules, kToday, outcome).empty());
  EXPECT_EQ(outcome.findings[0].known_by, KnownBy::kSuppression);
  EXPECT_EQ(outcome.findings[0].known_because, "until 2026-11-27: until their fix");
  EXPECT_EQ(outcome.findings[1].known_because, "slow rack");
}

TEST(Suppressions, HoldOnTheirLastDayAndNotAfterIt) {
  auto rules = suppressions("straggler 2026-11-27 slow rack");
  EXPECT_FALSE(expired(rules[0], kToday));
  EXPECT_TRUE(expired(rules[0], 2026y / 11 / 28));
  auto outcome = found();
  apply(rules, 2026y / 11 / 28, outcome);
  EXPECT_EQ(outcome.findings[1].known_by, KnownBy::kNobody);
}

TEST(Suppressions, ThatMatchNothingAreTold) {
  auto outcome = found();
  auto rules = suppressions("straggler never a\nuneven-steps never b\n");
  auto idle = apply(rules, kToday, outcome);
  ASSERT_EQ(idle.size(), 1u);
  EXPECT_EQ(idle[0]->line, 2u);
}

TEST(Suppressions, MistakesAreToldWithTheirLine) {
  for (const auto& [text, says] : {std::pair("\nstragler never x", "line 2: 'stragler' is neither"),
                                   {"0123456789abcde never x", "neither"},
                                   {"0123456789ABCDEF never x", "neither"},
                                   {"straggler 2026-02-30 x", "'2026-02-30' is no day"},
                                   {"straggler 26-02-03 x", "is no day"},
                                   {"straggler tomorrow x", "'tomorrow' is no day"},
                                   {"straggler", "'' is no day"},
                                   {"straggler never", "no reason"},
                                   {"straggler never  # why", "no reason"}}) {
    auto parsed = parse_suppressions(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().what, HasSubstr(says));
  }
}

std::string report_with(std::string_view findings) {
  return R"({"schema":1,"findings":[)" + std::string(findings) + "]}";
}

TEST(BaselineTest, KnowsWhatItHasAndTellsWhatIsGone) {
  auto outcome = found();
  auto baseline = parse_baseline(report_with(
      R"({"id":"fedcba9876543210","slug":"straggler"},{"id":"00000000000000aa","slug":"uneven-steps"})"));
  ASSERT_TRUE(baseline);
  apply(*baseline, outcome);
  EXPECT_EQ(outcome.findings[0].known_by, KnownBy::kNobody);
  EXPECT_EQ(outcome.findings[1].known_by, KnownBy::kBaseline);
  EXPECT_THAT(outcome.gone, ElementsAre("uneven-steps (finding 00000000000000aa)"));
  EXPECT_TRUE(outcome.compared);
}

TEST(BaselineTest, DoesNotKnowWhatGotWorse) {
  using findings::Severity;
  for (const auto& [there, here, knows] : {std::tuple(R"(,"severity":"warning")", Severity::kError, false),
                                           {R"(,"severity":"info")", Severity::kWarning, false},
                                           {R"(,"severity":"warning")", Severity::kWarning, true},
                                           {R"(,"severity":"error")", Severity::kWarning, true},
                                           {"", Severity::kError, true}}) {
    auto outcome = found();
    outcome.findings[1].severity = here;
    auto baseline = parse_baseline(
        report_with(R"({"id":"fedcba9876543210","slug":"straggler")" + std::string(there) + "}"));
    ASSERT_TRUE(baseline);
    apply(*baseline, outcome);
    EXPECT_EQ(outcome.findings[1].known_by, knows ? KnownBy::kBaseline : KnownBy::kNobody) << there;
    EXPECT_EQ(outcome.findings[1].worse_than, knows ? std::nullopt : baseline->entries[0].severity) << there;
    EXPECT_TRUE(outcome.gone.empty());
  }
}

TEST(BaselineTest, OfNothingKnowsNothing) {
  auto outcome = found();
  apply(*parse_baseline(report_with("")), outcome);
  EXPECT_EQ(outcome.findings[0].known_by, KnownBy::kNobody);
  EXPECT_TRUE(outcome.gone.empty());
}

TEST(BaselineTest, WhatIsNoReportIsRefused) {
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string(R"({"schema":2,"findings":[]})"),
        std::string(R"({"schema":1})"), std::string(R"({"schema":1,"findings":{}})"), report_with("3"),
        report_with(R"({"id":"x","slug":"straggler"})"), report_with(R"({"id":7,"slug":"straggler"})"),
        report_with(R"({"id":"fedcba9876543210","slug":"stragler"})"),
        report_with(R"({"id":"fedcba9876543210","slug":"straggler","severity":"fatal"})"),
        report_with(R"({"id":"fedcba9876543210","slug":"straggler","severity":1})")})
    EXPECT_FALSE(parse_baseline(text)) << text;
}

}  // namespace
}  // namespace ddpscope::gate
