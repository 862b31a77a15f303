// Calls are letters: what speaks for a letter at a place of a word.
#include "collector/matching/precedent.h"

#include <gtest/gtest.h>

#include <string_view>

namespace ddpscope::matching {
namespace {

// `other`: what another rank has at that place.
Precedent of(char call, std::string_view word, std::size_t here, char other = '?') {
  return find_precedent({word.size(), here, [&](std::size_t i, std::size_t j) { return word[i] == word[j]; },
                         [&](std::size_t i) { return word[i] == call; },
                         [&](std::size_t i) { return word[i] == other; }});
}

TEST(Precedent, CountsWhatStandsBeforeBothPlaces) {
  Precedent c = of('c', "xabcyabczabc", 11);
  EXPECT_EQ(c.longest, 2);
  EXPECT_EQ(c.second, 2);
  EXPECT_EQ(of('x', "xabcyabczabc", 11).longest, 0);
  EXPECT_FALSE(of('q', "xabcyabczabc", 11).any());
}

TEST(Precedent, ThePlaceItselfIsNone) { EXPECT_FALSE(of('z', "abz", 2).any()); }

TEST(Precedent, ARunSaysNothingOfItsOwnLength) {
  EXPECT_EQ(of('a', "baaaaa", 6).longest, 0) << "but that there is such a call";
  EXPECT_EQ(of('a', "baaaabaaa", 9).longest, 4);
  EXPECT_EQ(of('b', "baaaabaaa", 9).longest, 3);
}

TEST(Precedent, StepsThatWereRepeatedDoNotTellHowOften) {
  EXPECT_EQ(of('a', "xababababe", 9, 'e').longest, 0);
  EXPECT_EQ(of('a', "xababababe", 9, 'b').longest, 6) << "but what follows what within one";
  EXPECT_EQ(of('a', "ababeabababe", 9, 'e').longest, 2) << "in the round before";
  EXPECT_EQ(of('e', "ababeabababe", 9, 'a').longest, 4);
}

TEST(Precedent, LaterPlacesTellIfTheyDoNotReachBack) {
  EXPECT_EQ(of('b', "aabaab", 2).longest, 2) << "the second aab stands behind the first";
  EXPECT_FALSE(of('b', "aaab", 2).any()) << "right behind the place";
}

TEST(Precedent, OnePlaceMayBeChance) {
  EXPECT_FALSE((Precedent{4, -1}.beats({3, 2})));
  EXPECT_TRUE((Precedent{4, 4}.beats({3, 2})));
  EXPECT_TRUE((Precedent{9, -1}.beats({4, 4}))) << "unless it has much more in common";
  EXPECT_TRUE((Precedent{1, -1}.beats({-1, -1})));
  EXPECT_FALSE((Precedent{0, -1}.beats({-1, -1})));
}

}  // namespace
}  // namespace ddpscope::matching
