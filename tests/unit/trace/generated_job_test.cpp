// The generator of traces: equal seeds give equal bytes, and a fault is where it says.
#include "tests/tools/generated_job.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>

#include "trace/read/trace_file.h"

namespace ddpscope::tests {
namespace {

class Generated : public testing::Test {
 protected:
  Generated() {
    std::string name = (std::filesystem::temp_directory_path() / "ddpscope-generated-XXXXXX").string();
    if (mkdtemp(name.data())) folder_ = name;
  }
  ~Generated() override { std::filesystem::remove_all(folder_); }

  GeneratedJob generate(const JobShape& shape, const char* name = "trace") {
    auto job = generate_job(shape, folder_ / name);
    if (!job) throw std::runtime_error(job.error().what);
    return *job;
  }

  std::map<std::string, std::string> bytes(const char* name) {
    std::map<std::string, std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / name)) {
      std::ifstream in(entry.path(), std::ios::binary);
      found[entry.path().filename()] = {std::istreambuf_iterator<char>(in), {}};
    }
    return found;
  }

  // Collectives that each rank recorded.
  std::vector<std::size_t> collectives(const char* name) {
    std::map<std::string, std::size_t> counts;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / name)) {
      auto file = trace::TraceFile::open(entry.path());
      for (const trace::RecordSpan& span : file->records())
        for (const trace::Record& record : span.records)
          counts[entry.path()] += record.call == static_cast<std::uint16_t>(trace::Call::ncclAllReduce);
    }
    std::vector<std::size_t> found;
    for (const auto& [path, count] : counts) found.push_back(count);
    return found;
  }

  std::filesystem::path folder_;
};

TEST_F(Generated, EqualSeedsGiveEqualBytes) {
  JobShape shape{.ranks = 2, .steps = 20, .seed = 5};
  generate(shape, "a");
  generate(shape, "b");
  EXPECT_TRUE(bytes("a") == bytes("b"));
  shape.seed = 6;
  generate(shape, "c");
  EXPECT_FALSE(bytes("a") == bytes("c"));
}

TEST_F(Generated, HealthyJobHasAFileARankAndItsCollectives) {
  JobShape shape{.ranks = 3, .steps = 10, .epochs = 2, .buckets = 4};
  GeneratedJob job = generate(shape);
  EXPECT_EQ(job.rank, -1);
  std::size_t expected = 1 + 2 * (10 * 4 + 1);  // the preparation's barrier; buckets and a barrier an epoch
  EXPECT_EQ(collectives("trace"), (std::vector<std::size_t>(3, expected)));
}

TEST_F(Generated, FoldedJobHasTheSameCollectivesInLessSpace) {
  JobShape shape{.ranks = 2, .steps = 2'000, .epochs = 1, .buckets = 8, .accumulation = 1};
  generate(shape, "plain");
  shape.fold = 1;
  generate(shape, "folded");
  EXPECT_EQ(collectives("plain"), collectives("folded"));
  std::size_t plain = 0, folded = 0;
  for (const auto& [name, content] : bytes("plain")) plain += content.size();
  for (const auto& [name, content] : bytes("folded")) folded += content.size();
  EXPECT_LT(folded + 2 * 2'000 * 8 * 40, plain);
}

TEST_F(Generated, RankThatSkipsABarrierIsTheDrawnOne) {
  GeneratedJob job = generate({.ranks = 4, .steps = 10, .seed = 3, .fault = "skipped-barrier"});
  ASSERT_GE(job.rank, 0);
  EXPECT_EQ(job.place, "train.py:222 barrier");
  EXPECT_EQ(job.call, "ncclAllReduce");
}

TEST_F(Generated, RankThatLeavesHasFewerCollectives) {
  GeneratedJob job = generate({.ranks = 4, .steps = 10, .buckets = 4, .seed = 3, .fault = "hung-collective"});
  std::vector<std::size_t> counts = collectives("trace");
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    bool left = static_cast<std::int32_t>(rank) == job.rank;
    EXPECT_EQ(counts[rank], counts[(static_cast<std::size_t>(job.rank) + 1) % 4] - (left ? 4 : 0));
  }
}

TEST_F(Generated, EveryFaultMakesATraceOfItsOwn) {
  JobShape shape{.ranks = 2, .steps = 10};
  generate(shape, "healthy");
  for (const FaultInfo& fault : kFaults) {
    shape.fault = fault.slug;
    GeneratedJob job = generate(shape, fault.slug.data());
    EXPECT_FALSE(job.call.empty()) << fault.slug;
    EXPECT_FALSE(bytes(fault.slug.data()) == bytes("healthy")) << fault.slug;
  }
}

TEST_F(Generated, UnknownFaultIsRefused) {
  auto job = generate_job({.fault = "none"}, folder_ / "trace");
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().what, "no fault 'none'");
}

}  // namespace
}  // namespace ddpscope::tests
