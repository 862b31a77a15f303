// Every litmus trace: what it says of its labelled calls must be the engine's verdict.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "collector/alignment/align.h"
#include "collector/matching/collectives.h"
#include "collector/ordering/happens_before.h"
#include "collector/reading/read_trace.h"
#include "tests/tools/text_trace.h"
#include "tests/tools/trace_files.h"

namespace ddpscope::tests {
namespace {

namespace fs = std::filesystem;
using ordering::HappensBefore;
using ordering::Span;
using ordering::Verdict;

// "#: VERDICT A B"
struct Question {
  std::string verdict, first, second;
};

std::vector<Question> questions_in(const std::string& text) {
  std::vector<Question> questions;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("#:", 0) != 0) continue;
    std::istringstream words(line.substr(2));
    Question question;
    words >> question.verdict >> question.first >> question.second;
    questions.push_back(std::move(question));
  }
  return questions;
}

// Where the labelled calls are in the job.
std::map<std::string, Span> find_calls(const model::Job& job, const std::vector<LabelledCall>& labels) {
  std::map<std::string, Span> calls;
  for (const LabelledCall& wanted : labels)
    for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
      const model::Process& process = job.processes[i];
      if (process.header().pid != wanted.pid || process.file.host() != wanted.host) continue;
      model::for_each(process.file, [&](model::EventPlace place, const trace::Record& record) {
        if (record.call != static_cast<std::uint16_t>(wanted.call) || record.thread != wanted.thread ||
            record.begin != wanted.begin)
          return;
        calls[wanted.label] = {{i, record.thread}, job.begin_ns({i, place}), job.end_ns({i, place})};
      });
    }
  return calls;
}

std::string answer(const HappensBefore& order, const Span& first, const Span& second) {
  switch (order.between(first, second)) {
    case Verdict::kOrdered:
      return order.before(first, second, ordering::Trust::kSeen) ? "ordered" : "the other way round";
    case Verdict::kLikely:
      return "likely";
    case Verdict::kUnordered:
      return "unordered";
    default:
      return "unjudged";
  }
}

class Litmus : public testing::TestWithParam<fs::path> {};

TEST_P(Litmus, IsOrderedAsItSays) {
  std::string text = read_text(GetParam());
  std::vector<Question> questions = questions_in(text);
  ASSERT_FALSE(questions.empty()) << "no line '#: ordered|likely|unordered|unjudged A B'";
  TemporaryFolder folder;
  auto compiled = compile_text_trace(text, folder.path());
  ASSERT_TRUE(compiled.ok()) << compiled.error().where << ": " << compiled.error().what;
  reading::Silent progress;
  auto reading = reading::read_trace(folder.path(), progress);
  ASSERT_TRUE(reading.ok()) << reading.error().what;
  alignment::align(reading->job);
  auto calls = find_calls(reading->job, compiled->labels);
  std::vector<ordering::ThreadId> judged;
  for (const auto& [label, call] : calls) judged.push_back(call.thread);
  auto collectives = matching::find_collectives(reading->job);
  HappensBefore order(reading->job, collectives, ordering::find_device_order(reading->job, collectives),
                      files::find_shared_names(reading->job), judged);
  for (const Question& question : questions) {
    ASSERT_TRUE(calls.count(question.first) && calls.count(question.second))
        << "no call has the label: " << question.first << " or " << question.second;
    EXPECT_EQ(answer(order, calls.at(question.first), calls.at(question.second)), question.verdict)
        << question.first << " " << question.second;
  }
}

INSTANTIATE_TEST_SUITE_P(Traces, Litmus, testing::ValuesIn(text_traces_below(LITMUS_FOLDER)),
                         [](const auto& trace) { return test_name_of(trace.param); });

}  // namespace
}  // namespace ddpscope::tests
