// What Python's pickle makes of a loader's requests, and of what only looks like one. The bytes are those of
// pickle.dumps() of Python 3.11.
#include "injector/streams/loader_batches.h"

#include <gtest/gtest.h>

#include <string>

namespace ddpscope::injector {
namespace {

using trace::payload::LoaderBatch;

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (int value : values) text += static_cast<char>(value);
  return text;
}

std::optional<LoaderBatch> read(const std::string& text) {
  return read_loader_batch(text.data(), text.size());
}

std::string frame(int size) { return bytes({0x95, size, 0, 0, 0, 0, 0, 0, 0}); }

// (NUMBER, [INDEX...]) of protocol 4, each as a pickle writes it.
std::string request(const std::string& number, const std::string& list) {
  std::string body = number + "]" + bytes({0x94}) + list + bytes({0x86, 0x94}) + ".";
  return bytes({0x80, 4}) + frame(static_cast<int>(body.size())) + body;
}

std::string one(int value) { return "K" + bytes({value}); }
std::string two(int value) { return "M" + bytes({value & 255, value >> 8}); }
std::string four(int value) {
  return "J" + bytes({value & 255, value >> 8 & 255, value >> 16 & 255, value >> 24 & 255});
}

TEST(LoaderBatches, AListOfIndices) {
  auto batch = read(request(one(3), "(" + one(9) + two(300) + four(70'000) + one(4) + "e"));
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->number, 3U);
  EXPECT_EQ(batch->count, 4U);
  EXPECT_EQ(batch->first, 9U);
  EXPECT_EQ(batch->rising, 2U);
}

TEST(LoaderBatches, TheDigestIsOfTheIndicesInTheirOrder) {
  auto digest = [](const std::string& number, const std::string& list) {
    return read(request(number, list))->digest;
  };
  std::string list = "(" + one(1) + one(2) + one(3) + "e";
  EXPECT_EQ(digest(one(0), list), digest(two(999), list));
  EXPECT_NE(digest(one(0), list), digest(one(0), "(" + one(1) + one(3) + one(2) + "e"));
  EXPECT_NE(digest(one(0), list), digest(one(0), "(" + one(1) + one(2) + "e"));
  EXPECT_EQ(digest(one(0), list), digest(one(0), "(" + four(1) + two(2) + one(3) + "e"));
}

TEST(LoaderBatches, AListOfOneAndOneInPieces) {
  EXPECT_EQ(read(request(one(0), one(7) + "a"))->count, 1U);
  std::string thousand = "(";
  for (int i = 0; i < 1000; ++i) thousand += two(i);
  thousand += "e";
  EXPECT_EQ(read(request(one(0), thousand + one(7) + "a"))->count, 1001U);
  EXPECT_EQ(read(request(one(0), thousand + "(" + one(7) + one(8) + "e"))->count, 1002U);
}

TEST(LoaderBatches, OlderProtocols) {  // places in the memo as 'q', no frames
  auto batch = read(bytes({0x80, 3}) + one(2) + "]q" + bytes({0}) + "(" + one(6) + one(5) + "e" +
                    bytes({0x86}) + "q" + bytes({1}) + ".");
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->count, 2U);
  EXPECT_EQ(batch->rising, 0U);
}

TEST(LoaderBatches, LongIntegers) {
  std::string large = bytes({0x8a, 5, 0, 0, 0, 0, 1});  // 2^32
  EXPECT_EQ(read(request(one(0), "(" + large + one(1) + "e"))->first, std::uint64_t{1} << 32);
  EXPECT_FALSE(read(request(one(0), "(" + bytes({0x8a, 1, 0xff}) + one(1) + "e")));  // -1
}

TEST(LoaderBatches, WhatIsNone) {
  EXPECT_FALSE(read(""));
  EXPECT_FALSE(read("an ordinary line of text\n"));
  EXPECT_FALSE(read(bytes({0x80, 4}) + "N."));                              // None: the worker ends
  EXPECT_FALSE(read(request(one(0), "(NNe")));                              // an iterable data set
  EXPECT_FALSE(read(request(one(0), "")));                                  // an empty list
  EXPECT_FALSE(read(request(one(0), "(" + four(-5) + one(1) + "e")));       // no index
  EXPECT_FALSE(read(request(one(0), "(" + one(1) + bytes({0x88}) + "e")));  // True
  EXPECT_FALSE(read(request(one(0), "(" + one(1) + one(2) + "e") + "."));   // more behind it
  EXPECT_FALSE(read(bytes({0x80, 4}) + frame(7) + one(5) + two(777) + bytes({0x86, 0x94}) + "."));  // a pair
  std::string whole = request(one(0), "(" + one(1) + two(700) + bytes({0x8a, 1, 7}) + "e");
  ASSERT_TRUE(read(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(read(whole.substr(0, size))) << size;
}

}  // namespace
}  // namespace ddpscope::injector
