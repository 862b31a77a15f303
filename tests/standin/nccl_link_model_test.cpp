// STANDIN_LINK: what is read, what is refused, what it charges.
#include "standin/nccl/link_model.h"

#include <gtest/gtest.h>

namespace ddpscope::standin::nccl {
namespace {

using namespace std::chrono_literals;

TEST(LinkModel, ReadsLatencyAndBandwidthWithTheirUnits) {
  const auto model = parse_link_model("20us,1GB/s");
  ASSERT_TRUE(model);
  EXPECT_EQ(model->latency, 20us);
  EXPECT_EQ(model->bytes_per_second, 1e9);
  EXPECT_EQ(parse_link_model("1.5ms,250MB/s")->latency, 1500us);
  EXPECT_EQ(parse_link_model("0ns,8KB/s")->bytes_per_second, 8e3);
}

TEST(LinkModel, ChargesLatencyPlusBytesOverBandwidth) {
  EXPECT_EQ(parse_link_model("20us,1GB/s")->duration(1'000'000), 1020us);
  EXPECT_EQ(parse_link_model("1s,2B/s")->duration(4), 3s);
  EXPECT_EQ(LinkModel{}.duration(1 << 30), 0ns) << "no model, no cost";
}

class NotALinkModel : public testing::TestWithParam<const char*> {};

TEST_P(NotALinkModel, IsRefused) { EXPECT_FALSE(parse_link_model(GetParam())); }

INSTANTIATE_TEST_SUITE_P(Texts, NotALinkModel,
                         testing::Values("", "20us", "20,1GB/s", "20us,1", "20us,0GB/s", "-1us,1GB/s",
                                         "20us;1GB/s", "20us,1GB/s,3", "20 us,1GB/s", "nanus,1GB/s",
                                         "20us,1Gb/s"));

}  // namespace
}  // namespace ddpscope::standin::nccl
