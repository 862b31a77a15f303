// Tables behave like vectors, on either side of the size from which they take large pages.
#include "trace/read/table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <numeric>

namespace ddpscope::trace {
namespace {

TEST(Table, KeepsWhatIsInItWhileItGrows) {
  constexpr std::uint64_t kMany = 3'000'000;  // 24 MB
  Table<std::uint64_t> table;
  for (std::uint64_t i = 0; i < kMany; ++i) table.push_back(i);
  EXPECT_EQ(std::accumulate(table.begin(), table.end(), std::uint64_t{0}), kMany * (kMany - 1) / 2);
  Table<std::uint64_t> copy = table;
  table.resize(10);
  table.shrink_to_fit();
  EXPECT_EQ(table.back(), 9u);
  EXPECT_EQ(copy[kMany - 1], kMany - 1);
}

TEST(Table, LargeOnesBeginOnALargePage) {
  Table<char> table(std::size_t{5} << 20);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(table.data()) % (2 << 20), 0u);
}

TEST(Table, MoreThanThereIsIsAnError) {
  LargePages<std::uint64_t> pages;
  EXPECT_THROW((void)pages.allocate(static_cast<std::size_t>(-1)), std::bad_array_new_length);
}

}  // namespace
}  // namespace ddpscope::trace
