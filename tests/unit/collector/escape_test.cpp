// Nothing that a trace holds can steer a terminal or break JSON.
#include "collector/reports/escape.h"

#include <gtest/gtest.h>

namespace ddpscope::reports {
namespace {

TEST(Escape, OrdinaryTextStays) {
  EXPECT_EQ(escape("data/train.csv"), "data/train.csv");
  EXPECT_EQ(escape("größe 数据 🚀"), "größe 数据 🚀");
}

TEST(Escape, ControlCharactersAreSpelledOut) {
  EXPECT_EQ(escape("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(escape("two\nlines\t"), "two\\nlines\\t");
  EXPECT_EQ(escape("del\x7f"), "del\\x7f");
  EXPECT_EQ(escape("c1 \xc2\x9b"), "c1 \\xc2\\x9b");
  EXPECT_EQ(escape(std::string_view("zero\0", 5)), "zero\\x00");
}

TEST(Escape, WhatTurnsTheDirectionOfTextIsSpelledOut) {
  EXPECT_EQ(escape("gpj\xe2\x80\xae.exe"), "gpj\\xe2\\x80\\xae.exe");
  EXPECT_EQ(escape("\xe2\x81\xa6x"), "\\xe2\\x81\\xa6x");
  EXPECT_EQ(escape("\u2192\u2026"), "\u2192\u2026");
}

TEST(Escape, WhatXmlCannotHoldIsSpelledOut) {
  EXPECT_EQ(escape("\xef\xbf\xbe\xef\xbf\xbf\xef\xbf\xbd"), "\\xef\\xbf\\xbe\\xef\\xbf\\xbf\xef\xbf\xbd");
}

TEST(Escape, ControlsThatJsonAllowsAreEscapedInIt) {
  EXPECT_EQ(escape_controls_of_json("[\"a\x7f\xc2\x9b\u00e9\u2026\"]"), "[\"a\\u007f\\u009b\u00e9\u2026\"]");
}

TEST(Escape, ABackslashIsDoubled) { EXPECT_EQ(escape("a\\nb"), "a\\\\nb"); }

TEST(Escape, InvalidUtf8) {
  EXPECT_EQ(escape("\xff"), "\\xff");
  EXPECT_EQ(escape("\xc0\x80"), "\\xc0\\x80");           // not the shortest form
  EXPECT_EQ(escape("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(escape("\xe2\x82"), "\\xe2\\x82");           // cut off
  EXPECT_EQ(valid_utf8("a\xff"
                       "b"),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(valid_utf8("größe\n"), "größe\n");
}

}  // namespace
}  // namespace ddpscope::reports
