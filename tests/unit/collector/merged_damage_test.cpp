// Merged files that are damaged, foreign, cut off or never finished: each is told, none leads out of the
// file.
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <random>

#include "collector/merged/format.h"
#include "collector/merged/writer.h"
#include "tests/tools/merged_walk.h"
#include "tests/unit/collector/merged_file.h"

namespace ddpscope::merged {
namespace {

namespace fs = std::filesystem;

// What is cut off anywhere is told, and says what to do.
TEST_F(MergedFile, CutOffAnywhereItIsNotOpened) {
  generated(20'000, 8, 4);
  std::vector<unsigned char> whole = bytes_of(file());
  std::vector<std::size_t> lengths{0, 1, 7, 8, sizeof(Header) - 1, sizeof(Header), kPage, whole.size() - 1};
  Header header;
  std::memcpy(&header, whole.data(), sizeof(header));
  for (std::uint32_t i = 0; i < header.table_entries; ++i) {
    SectionEntry entry;
    std::memcpy(&entry, whole.data() + header.table_offset + i * sizeof(entry), sizeof(entry));
    for (std::uint64_t at : {entry.offset, entry.offset + entry.bytes})
      for (std::int64_t by : {-1, 0, 1})
        if (std::size_t length = at + static_cast<std::uint64_t>(by); length < whole.size())
          lengths.push_back(length);
  }
  for (std::size_t length : lengths) {
    store({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)});
    auto reader = Reader::open(file());
    ASSERT_FALSE(reader) << length;
    EXPECT_FALSE(reader.error().hint.empty());
    EXPECT_EQ(reader.error().where, file().string());
  }
}

// Header, table, and what the table guards.
std::vector<SectionEntry> guarded_sections(const std::vector<unsigned char>& file) {
  Header header;
  std::memcpy(&header, file.data(), sizeof(header));
  std::vector<SectionEntry> guarded{
      {{}, 1, 0, sizeof(Header), 0},
      {{}, 1, header.table_offset, header.table_entries * sizeof(SectionEntry), 0}};
  for (std::uint32_t i = 0; i < header.table_entries; ++i) {
    SectionEntry entry;
    std::memcpy(&entry, file.data() + header.table_offset + i * sizeof(entry), sizeof(entry));
    if (entry.checked && entry.bytes) guarded.push_back(entry);
  }
  return guarded;
}

// A flipped bit is told where a checksum guards it, and elsewhere changes what is shown but no more. With the
// checksums made right again, whatever is said must not lead out of the file.
TEST_F(MergedFile, FlippedBitsDoNoHarm) {
  generated(6'000, 6, 3);
  std::vector<unsigned char> whole = bytes_of(file());
  std::mt19937_64 random(11);
  std::vector<SectionEntry> guarded = guarded_sections(whole);
  for (int i = 0; i < 120; ++i) {
    std::vector<unsigned char> bytes = whole;
    bool in_guarded = i % 2;
    const SectionEntry& section = guarded[random() % guarded.size()];
    std::size_t at = in_guarded ? section.offset + random() % section.bytes : random() % whole.size();
    bytes[at] ^= static_cast<unsigned char>(1u << random() % 8);
    for (bool repaired : {false, true}) {
      if (repaired) tests::repair_checksums(bytes);
      store(bytes);
      auto reader = Reader::open(file());
      if (in_guarded && !repaired) {
        EXPECT_FALSE(reader) << "byte " << at;
      }
      if (reader) tests::look_at_all(*reader);
    }
  }
}

TEST_F(MergedFile, OthersFilesAreRefusedPolitely) {
  EXPECT_NE(Reader::open(folder_ / "none").error().what.find("No such file"), std::string::npos);
  EXPECT_FALSE(Reader::open(folder_));
  store({'D', 'D', 'P', 'S', 'C', 'O', 'P', 'E', 1, 0, 0, 0});
  EXPECT_NE(Reader::open(file()).error().what.find("no merged file"), std::string::npos);
  EXPECT_FALSE(is_merged_file(file()));
  generated(1000, 1, 1);
  EXPECT_TRUE(is_merged_file(file()));
  std::vector<unsigned char> newer = bytes_of(file());
  newer[8] = 99;
  store(newer);
  auto reader = Reader::open(file());
  ASSERT_FALSE(reader);
  EXPECT_NE(reader.error().what.find("version 99"), std::string::npos);
  EXPECT_NE(reader.error().hint.find("newer ddpscope"), std::string::npos);
}

TEST_F(MergedFile, CutOffWhileItIsOpenItReadsAsZeros) {
  Reader reader = generated(200'000, 4, 4);
  fs::resize_file(file(), 2 * kPage);
  tests::look_at_all(reader);
  EXPECT_TRUE(reader.lost());
}

TEST_F(MergedFile, AFullDiskLeavesNothingBehind) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small{64 * 1024, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  tests::MergedShape shape;
  shape.events = 100'000;
  auto made = tests::generate_merged(shape, file());
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().what.find("File too large"), std::string::npos);
  EXPECT_EQ(files(), 0u);
}

TEST_F(MergedFile, AnOldFileStaysUntilTheNewOneIsWhole) {
  store({'o', 'l', 'd'});
  {
    auto writer = Writer::create(file(), {1000, 0, 1});
    ASSERT_TRUE(writer);
    EXPECT_EQ(bytes_of(file()).size(), 3u);
  }
  EXPECT_EQ(bytes_of(file()).size(), 3u);
  EXPECT_EQ(files(), 1u);
}

}  // namespace
}  // namespace ddpscope::merged
