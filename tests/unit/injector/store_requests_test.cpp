// Requests of PyTorch's store client, whole and in pieces; and what only looks like them.
#include "injector/streams/store_requests.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace ddpscope::injector {
namespace {

std::string number(std::uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(value >> 8 * i);
  return bytes;
}
std::string text(const std::string& value) { return number(value.size()) + value; }
std::string op(int value) { return {static_cast<char>(value)}; }
const std::string kMagic("\0\xCE\xF7\x85\x3C", 5);

// "OPERATION KEY" of all events: the operation as a number, "?" for a key that is not told.
std::vector<std::string> read(const std::vector<std::string>& sends) {
  StoreRequests requests;
  requests.begin();
  std::vector<std::string> told;
  std::string key;
  for (const std::string& sent : sends) {
    auto data = reinterpret_cast<const unsigned char*>(sent.data());
    std::size_t bytes = sent.size();
    StoreRequests::Event event;
    bool more;
    do {
      more = requests.read(data, bytes, event);
      if (more && event.key)
        key.assign(event.key, event.bytes);
      else if (more)
        told.push_back(std::to_string(static_cast<int>(event.operation)) +
                       (event.with_key ? " " + key : " ?"));
    } while (more || (bytes && requests.reads()));
  }
  return told;
}

using Told = std::vector<std::string>;

// As torch 1.13 sends them: each part on its own.
TEST(StoreRequests, OfOlderClientsComeInParts) {
  EXPECT_EQ(read({op(3),     number(5), "init/",   number(1),                   // add
                  op(5),     number(2), number(2), "/a",      number(2), "/b",  // wait
                  op(2),     number(2), "/a",                                   // get
                  op(0),     number(2), "/k",      number(3), "abc",            // set
                  op(1),     number(2), "/k",      number(0), number(1), "x",   // compare_set
                  op(3),     number(2), "/n",      number(0),                   // add of 0
                  op(4),     number(1), number(2), "/a",      op(6),     op(8),
                  number(2), "/k",      op(9),             // check, count
                  number(2), "/k",      number(1), "y"}),  // remove, append
            (Told{"4 init/", "6 /a", "6 /b", "3 /a", "1 /k", "2 /k", "3 /n", "5 /a", "7 ?", "8 /k", "9 /k"}));
}

TEST(StoreRequests, OfNewerClientsBeginWithANumber) {
  EXPECT_EQ(read({kMagic, op(13) + std::string(4, 'x'), op(4) + text("init/") + number(1),
                  op(6) + number(1) + text("/a"), op(3) + text("/a"), op(1) + text("/k") + text("value"),
                  op(2) + text("/k") + text("") + text("v"), op(8) + text("/k"),
                  op(9) + text("/k") + text(""), op(10) + number(2) + text("/a") + text("/b"),
                  op(11) + number(2) + text("/c") + text("1") + text("/d") + text("2"), op(12), op(7),
                  op(14) + text("/q") + text("v"), op(15) + text("/q"), op(16) + text("/q")}),
            (Told{"4 init/", "6 /a", "3 /a", "1 /k", "2 /k", "8 /k", "9 /k", "3 /a", "3 /b", "1 /c", "1 /d",
                  "7 ?", "11 /q", "12 /q", "13 /q"}));
}

TEST(StoreRequests, AKeyInPiecesHasNoName) {
  std::string wait = op(6) + number(2) + text("/first") + text("/second");
  EXPECT_EQ(read({kMagic, wait.substr(0, 33), wait.substr(33), op(3) + text("/a")}),
            (Told{"6 /first", "6 ?", "3 /a"}));
}

// Wherever it is cut, each request is told once, and the next one is read right.
TEST(StoreRequests, MayBeCutAnywhere) {
  std::string set = op(1) + text("/key") + text("some value");
  for (std::size_t cut = 1; cut < set.size(); ++cut) {
    Told told = read({kMagic, set.substr(0, cut), set.substr(cut), op(3) + text("/a")});
    ASSERT_EQ(told.size(), 2u) << cut;
    EXPECT_TRUE(told[0] == "1 /key" || (told[0] == "1 ?" && cut > 9 && cut < 13)) << cut << " " << told[0];
    EXPECT_EQ(told[1], "3 /a");
  }
}

TEST(StoreRequests, OtherProtocolsAreLeftAlone) {
  EXPECT_EQ(read({"GET / HTTP/1.1\r\n\r\n"}), Told{});
  EXPECT_EQ(read({std::string("\x16\x03\x01\x02\x00\x01", 6)}), Told{});                // TLS
  EXPECT_EQ(read({op(3), number(5), std::string("\x01\x02\x03\x04\x05", 5)}), Told{});  // no text
  EXPECT_EQ(read({op(3), number(1ull << 40)}), Told{});                                 // no length
  EXPECT_EQ(read({op(6), op(6), op(6)}), Told{});
  EXPECT_EQ(read({std::string(64, '\0')}), Told{});
  EXPECT_EQ(read({op(40)}), Told{});
}

TEST(StoreRequests, WhatIsNotUnderstoodEndsTheReading) {
  EXPECT_EQ(read({kMagic, op(3) + text("/a"), op(99) + text("/b"), op(3) + text("/c")}),
            (Told{"3 /a", "0 ?"}));
}

// Any bytes end somewhere, and nothing beyond them is read (tests/fuzz is for what comes from files).
TEST(StoreRequests, AnyBytesEnd) {
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::string> sends{round % 2 ? kMagic : op(static_cast<int>(random() % 9))};
    for (unsigned i = 0; i < 6; ++i) {
      std::string bytes;
      for (unsigned k = random() % 12; k; --k) bytes += static_cast<char>(random() % (i % 2 ? 3 : 18));
      sends.push_back(bytes);
    }
    read(sends);
  }
}

}  // namespace
}  // namespace ddpscope::injector
