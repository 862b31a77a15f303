// Cover vectors and the rules of CUDA's streams.
#include "collector/ordering/streams.h"

#include <algorithm>

namespace ddpscope::ordering {
namespace {

constexpr std::uint64_t kLegacyHandle = 1;     // cudaStreamLegacy; 0 means the same unless compiled otherwise
constexpr std::uint64_t kPerThreadHandle = 2;  // cudaStreamPerThread

}  // namespace

void join(Cover& into, const Cover& other) {
  if (into.size() < other.size()) into.resize(other.size());
  for (std::size_t i = 0; i < other.size(); ++i) into[i] = std::max(into[i], other[i]);
}

StreamNumber Streams::find(std::uint64_t handle, std::uint8_t device, std::uint16_t thread) {
  bool legacy = handle <= kLegacyHandle;
  // A handle that is a pointer means the same stream whatever device is current.
  std::pair<std::uint64_t, std::uint32_t> key{legacy ? kLegacyHandle : handle, 0};
  if (legacy) key.second = device;
  if (handle == kPerThreadHandle) key.second = (std::uint32_t{device} << 16) | thread;
  auto [found, fresh] = by_handle_.try_emplace(key, count());
  if (fresh) streams_.push_back({device, legacy, true, {}});
  return found->second;
}

void Streams::create(std::uint64_t handle, std::uint8_t device, bool blocking) {
  by_handle_[{handle, 0}] = count();  // a handle may have been used before for a stream that is gone
  streams_.push_back({device, false, blocking, {}});
}

std::uint32_t Streams::enqueue_collective(StreamNumber stream) {
  Cover& cover = streams_[stream].cover;
  if (cover.size() <= stream) cover.resize(stream + 1);
  return ++cover[stream];
}

void Streams::wait_for_event(StreamNumber stream, std::uint64_t event) {
  auto found = events_.find(event);
  if (found != events_.end()) join(streams_[stream].cover, found->second);
}

void Streams::all_wait_for_event(std::uint8_t device, std::uint64_t event) {
  find(kLegacyHandle, device, 0);  // it may not have been used yet
  for (StreamNumber stream = 0; stream < count(); ++stream)
    if (streams_[stream].device == device) wait_for_event(stream, event);
}

bool Streams::follows(StreamNumber stream, StreamNumber other) const {
  const Stream &own = streams_[stream], &that = streams_[other];
  if (own.device != that.device) return false;
  return own.legacy ? that.blocking : own.blocking && that.legacy;
}

void Streams::cover_of(StreamNumber stream, Cover& cover) const {
  const Stream& own = streams_[stream];
  cover = own.cover;
  if (!own.legacy && !own.blocking) return;
  for (StreamNumber other = 0; other < count(); ++other)
    if (follows(stream, other)) join(cover, streams_[other].cover);
}

const Cover& Streams::cover_of_event(std::uint64_t event) const {
  static const Cover kNothing;
  auto found = events_.find(event);
  return found == events_.end() ? kNothing : found->second;
}

Cover Streams::cover_of_device(std::uint8_t device) const {
  Cover cover;
  for (const Stream& stream : streams_)
    if (stream.device == device) join(cover, stream.cover);
  return cover;
}

}  // namespace ddpscope::ordering
