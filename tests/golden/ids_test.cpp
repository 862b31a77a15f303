// An id tells bugs apart that happen at one call of the peers, and knows a bug again in another run.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "collector/analysis/analyze.h"
#include "tests/tools/text_trace.h"
#include "tests/tools/trace_files.h"

namespace ddpscope::tests {
namespace {

// What differs from one run of a program to the next.
struct Run {
  int pid = 1000;
  double begin = 0;
  std::string host = "a";
  std::string folder = "";     // where the program lies
  std::string called_by = "";  // a package of another version, and the language's library
};

const Run kRuns[] = {
    {1000, 0, "a", "",
     "/usr/lib/python3/dist-packages/torch/run.py:7 main < /usr/lib/python3.11/runpy.py:88 _run"},
    {40000, 3.25, "b", "/home/me/job/",
     "/opt/site-packages/torch/run.py:9 main < /opt/lib/python3.13/runpy.py:3 _go"}};

// The stacks of a program as they are in this run.
std::string placed(std::string text, const Run& run) {
  text = std::regex_replace(text, std::regex(R"((\w+\.py:\d+ ))"), run.folder + "$1");
  return std::regex_replace(text, std::regex(R"((stack="[^"]*))"), "$1 < " + run.called_by);
}

using Program = std::string (*)(const Run&, const std::string& bug);

struct Found {
  std::string slug, id;
  auto operator<=>(const Found&) const = default;
};

std::vector<Found> find(const std::string& text) {
  TemporaryFolder folder;
  auto compiled = compile_text_trace(text, folder.path());
  EXPECT_TRUE(compiled.ok()) << compiled.error().where << ": " << compiled.error().what << "\n" << text;
  reading::Silent progress;
  auto analysis = analysis::analyze(folder.path(), {}, progress);
  std::vector<Found> found;
  for (const auto& finding : analysis->outcome.findings) found.push_back({finding.slug, finding.id});
  return found;
}

// Each bug is one finding of this slug, has one id in all runs, and no other bug has it.
void expect_ids(const std::string& slug, Program program, const std::vector<std::string>& bugs) {
  std::map<std::string, std::string> bug_of;
  for (const std::string& bug : bugs) {
    SCOPED_TRACE(bug);
    std::set<Found> of_bug;
    for (const Run& run : kRuns) {
      std::vector<Found> found = find(placed(program(run, bug), run));
      ASSERT_EQ(found.size(), 1u);
      EXPECT_EQ(found[0].slug, slug);
      of_bug.insert(found[0]);
    }
    ASSERT_EQ(of_bug.size(), 1u) << "another id in another run";
    auto [known, fresh] = bug_of.emplace(of_bug.begin()->id, bug);
    EXPECT_TRUE(fresh) << "has the id of " << known->second;
  }
}

std::string ranks_that_reduce(const Run& run, int steps) {
  std::string text = fmt::format(
      "host {0}\n"
      "let grad = ncclAllReduce communicator=1 count=1000 datatype=f32 stream=0x7 buffer=0x200\n"
      "let T = {1}\nlet HOST = {0}\nlet PID = {2}\n",
      run.host, run.begin, run.pid);
  for (int r = 0; r < 4; ++r) {
    text += fmt::format(
        "process r{0} host={3} pid={2} rank={0} world=4 until=${{T+20}}\n"
        "r{0} ${{T+0.1}} +0.05 ncclCommInitRank communicator=1 id=0xabc rank={0} size=4 device={0}\n"
        "for step in 0..{1} every 0.1 {{\n"
        "  r{0} ${{T+1.0}} +0.001 $grad stack=\"ddp.py:5 reduce < train.py:20 step\"\n"
        "  r{0} ${{T+1.002}} +0.01 cudaStreamSynchronize stream=0x7\n"
        "}}\n",
        r, steps - 1, run.pid + r, run.host);
  }
  return text;
}

// Rank 3 does not come to the fourth step's reduction.
std::string missing_rank(const Run& run, const std::string& what_it_does) {
  std::string text = ranks_that_reduce(run, 3);
  for (int r = 0; r < 3; ++r)
    text += fmt::format(
        "r{0} ${{T+1.3}} +0.001 $grad stack=\"ddp.py:5 reduce < train.py:20 step\"\n"
        "r{0} ${{T+1.302}} +12 cudaStreamSynchronize stream=0x7\n"
        "r{0}/2 ${{T+13.2}} +0.05 ncclCommAbort communicator=1\n"
        "r{0} ${{T+13.4}} +0.001 _exit status=1\n",
        r);
  return text + what_it_does;
}

// As `ddpscope run` saw it.
std::string killed_by(int signal) {
  return fmt::format(
      "process run host=$HOST pid=9\n"
      "run ${{T+0.05}} +19 job_watched pid=9 status=1\n"
      "run ${{T+1.45}} +0 process_ended pid=${{PID+3}} start_time=100000 status={}\n",
      128 + signal);
}

TEST(GoldenIds, TellHowAMissingRankEnded) {
  expect_ids("hung-collective", missing_rank,
             {"r3 ${T+1.4} +0.001 exit status=0 stack=\"train.py:30 leave\"",
              "r3 ${T+1.4} +0.001 exit status=7 stack=\"train.py:30 leave\"",
              "r3 ${T+1.4} +0.001 exit status=7 stack=\"data.py:8 check\"",
              "r3 ${T+1.4} inside read file=1 stack=\"data.py:9 load\"",
              "r3 ${T+1.4} inside read file=1 stack=\"log.py:9 send\"",
              "r3 ${T+1.4} inside flock file=1 stack=\"data.py:9 load\"", killed_by(9), killed_by(11)});
}

// Rank 3 deviates in the fourth step of reductions, all of one place in the code.
std::string deviating_rank(const Run& run, const std::string& of_rank) {
  std::string text = ranks_that_reduce(run, 3);
  for (int r = 0; r < 4; ++r) {
    double at = 2.0;
    std::string calls = r == 3 ? of_rank : "abcm";
    for (char call : calls) {
      std::map<char, std::string> kinds{{'a', "count=10"}, {'b', "count=20"}, {'c', "count=30"},
                                        {'m', "count=2"},  {'h', "count=15"}, {'d', "count=20"},
                                        {'x', "count=20"}, {'o', "count=20"}, {'n', "count=2"}};
      std::string name = call == 'o' ? "ncclReduceScatter" : "ncclAllReduce";
      std::string place = call == 'n'   ? "train.py:38 first < train.py:40 step"
                          : call == 'm' ? "train.py:29 log < train.py:40 step"
                          : call == 'x' ? "train.py:26 extra < train.py:40 step"
                                        : "train.py:26 layer < train.py:40 step";
      text += fmt::format(
          "r{} ${{T+{:.3f}}} +0.001 {} communicator=1 {} datatype={} stream=0x7 buffer=0x200 stack=\"{}\"\n",
          r, at += 0.002, name, kinds[call], call == 'd' ? "f16" : "f32", place);
    }
    text += fmt::format(
        "r{0} ${{T+2.1}} +12 cudaStreamSynchronize stream=0x7\n"
        "r{0}/2 ${{T+14}} +0.05 ncclCommAbort communicator=1\n",
        r);
  }
  return text;
}

TEST(GoldenIds, TellHowARankDeviates) {
  expect_ids("mismatched-collective", deviating_rank, {"acm", "ahcm", "axbcm", "adcm", "aocm", "nabc"});
}

}  // namespace
}  // namespace ddpscope::tests
