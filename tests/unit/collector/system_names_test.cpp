// The names are glibc's own, which older systems lack.
#include "collector/model/system_names.h"

#include <gtest/gtest.h>
#include <string.h>

#include <string>

namespace ddpscope::model {
namespace {

std::string text_of(const char* name) { return name ? name : ""; }

TEST(SystemNames, OfErrorsAreThoseOfTheCLibrary) {
  for (int number = 1; number < 4096; ++number)
    EXPECT_EQ(text_of(name_of_error(number)), text_of(strerrorname_np(number))) << number;
}

TEST(SystemNames, OfSignalsAreThoseOfTheCLibrary) {
  for (int number = -1; number < 130; ++number) {
    std::string short_name = text_of(sigabbrev_np(number));
    EXPECT_EQ(text_of(name_of_signal(number)), short_name.empty() ? "" : "SIG" + short_name) << number;
  }
}

}  // namespace
}  // namespace ddpscope::model
