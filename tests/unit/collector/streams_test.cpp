// What a wait for a stream covers.
#include "collector/ordering/streams.h"

#include <gtest/gtest.h>

namespace ddpscope::ordering {
namespace {

constexpr std::uint64_t kComputeHandle = 0x5000, kLinkHandle = 0x7000, kEvent = 0x9000;

std::uint32_t covered(const Cover& cover, StreamNumber stream) {
  return stream < cover.size() ? cover[stream] : 0;
}

TEST(Streams, AStreamCoversItsOwn) {
  Streams streams;
  StreamNumber link = streams.find(kLinkHandle, 0, 1);
  streams.enqueue_collective(link);
  streams.enqueue_collective(link);
  EXPECT_EQ(covered(streams.cover_of(link), link), 2u);
}

TEST(Streams, AnEventCarriesWhatWasThereWhenItWasRecorded) {
  Streams streams;
  streams.create(kComputeHandle, 0, false);
  streams.create(kLinkHandle, 0, false);
  StreamNumber compute = streams.find(kComputeHandle, 0, 1), link = streams.find(kLinkHandle, 0, 1);
  streams.enqueue_collective(link);
  streams.record_event(kEvent, link);
  streams.enqueue_collective(link);
  EXPECT_EQ(covered(streams.cover_of(compute), link), 0u);
  streams.wait_for_event(compute, kEvent);
  EXPECT_EQ(covered(streams.cover_of(compute), link), 1u);
  EXPECT_EQ(covered(streams.cover_of_event(kEvent), link), 1u);
}

TEST(Streams, TheLegacyStreamCoversBlockingStreamsOfItsDevice) {
  Streams streams;
  streams.create(0x5000, 0, true);
  streams.create(0x6000, 0, false);
  streams.create(0x7000, 1, true);
  for (auto [handle, device] : {std::pair{0x5000, 0}, {0x6000, 0}, {0x7000, 1}})
    streams.enqueue_collective(
        streams.find(static_cast<std::uint64_t>(handle), static_cast<std::uint8_t>(device), 1));
  Cover cover = streams.cover_of(streams.find(0, 0, 1));
  EXPECT_EQ(covered(cover, streams.find(0x5000, 0, 1)), 1u);
  EXPECT_EQ(covered(cover, streams.find(0x6000, 0, 1)), 0u);
  EXPECT_EQ(covered(cover, streams.find(0x7000, 1, 1)), 0u);
}

TEST(Streams, WaitingForTheWrongDeviceCoversNothing) {
  Streams streams;
  streams.create(kLinkHandle, 1, true);
  StreamNumber link = streams.find(kLinkHandle, 1, 1);
  streams.enqueue_collective(link);
  EXPECT_EQ(covered(streams.cover_of(streams.find(0, 0, 1)), link), 0u);
  EXPECT_EQ(covered(streams.cover_of_device(0), link), 0u);
  EXPECT_EQ(covered(streams.cover_of_device(1), link), 1u);
}

TEST(Streams, AHandleUsedAnewIsAnotherStream) {
  Streams streams;
  streams.create(kLinkHandle, 0, false);
  StreamNumber first = streams.find(kLinkHandle, 0, 1);
  streams.enqueue_collective(first);
  streams.create(kLinkHandle, 0, false);
  StreamNumber second = streams.find(kLinkHandle, 0, 1);
  EXPECT_NE(first, second);
  EXPECT_EQ(covered(streams.cover_of(second), first), 0u);
}

}  // namespace
}  // namespace ddpscope::ordering
