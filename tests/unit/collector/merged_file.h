// A merged file in a folder of its own, which lives as long as the test.
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "collector/merged/reader.h"
#include "tests/tools/generated_merged.h"

namespace ddpscope::merged {

class MergedFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "merged.XXXXXX").string();
    ASSERT_TRUE(::mkdtemp(name.data()));
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path file() const { return folder_ / "job.merged"; }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()));
  }
  static std::vector<unsigned char> bytes_of(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void store(const std::vector<unsigned char>& bytes) const {
    std::ofstream(file(), std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  Reader generated(std::uint64_t events, std::uint32_t rows, std::uint32_t tracks,
                   std::uint32_t findings = 2) {
    tests::MergedShape shape;
    shape.events = events;
    shape.rows = rows;
    shape.tracks = tracks;
    shape.findings = findings;
    auto made = tests::generate_merged(shape, file());
    EXPECT_TRUE(made) << made.error().what;
    auto reader = Reader::open(file());
    EXPECT_TRUE(reader) << reader.error().what;
    return std::move(*reader);
  }

  std::filesystem::path folder_;
};

}  // namespace ddpscope::merged
