// The streams of one process, as far as collectives go: each knows how many collectives of each stream it
// comes after.
#pragma once
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ddpscope::ordering {

using StreamNumber = std::uint32_t;

// covers[s]: collectives of stream s that are done once what has this is done.
using Cover = std::vector<std::uint32_t>;
void join(Cover& into, const Cover& other);

class Streams {
 public:
  // The streams that a handle means on a device: CUDA's handles 0 and 1 are the legacy stream of the device,
  // 2 is one a thread; others are pointers.
  StreamNumber find(std::uint64_t handle, std::uint8_t device, std::uint16_t thread);
  void create(std::uint64_t handle, std::uint8_t device, bool blocking);

  // The collective's place in its stream, from 1.
  std::uint32_t enqueue_collective(StreamNumber stream);
  void record_event(std::uint64_t event, StreamNumber stream) { cover_of(stream, events_[event]); }
  void wait_for_event(StreamNumber stream, std::uint64_t event);
  void all_wait_for_event(std::uint8_t device, std::uint64_t event);  // all streams of the device

  void cover_of(StreamNumber stream, Cover& cover) const;  // what a wait for the stream covers
  Cover cover_of(StreamNumber stream) const {
    Cover cover;
    cover_of(stream, cover);
    return cover;
  }
  const Cover& cover_of_event(std::uint64_t event) const;
  // Whether what is enqueued in a stream comes after all that was enqueued in another one, without any event.
  bool follows(StreamNumber stream, StreamNumber other) const;
  std::uint8_t device_of(StreamNumber stream) const { return streams_[stream].device; }
  Cover cover_of_device(std::uint8_t device) const;
  std::uint32_t count() const { return static_cast<std::uint32_t>(streams_.size()); }

 private:
  struct Stream {
    std::uint8_t device;
    bool legacy;
    bool blocking;  // waits for the legacy stream, and it for them
    Cover cover;
  };
  std::vector<Stream> streams_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, StreamNumber> by_handle_;
  std::unordered_map<std::uint64_t, Cover> events_;
};

}  // namespace ddpscope::ordering
