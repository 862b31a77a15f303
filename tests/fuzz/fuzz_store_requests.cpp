// What a connection sends, read as requests to PyTorch's store: in any pieces it ends, and what it names lies
// in the piece at hand.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "injector/streams/store_requests.h"

namespace {

using ddpscope::injector::StoreRequests;

volatile std::uint64_t seen;

void send(StoreRequests& requests, const unsigned char* begin, std::size_t bytes) {
  const unsigned char* const end = begin + bytes;
  StoreRequests::Event event;
  // A piece has no more events than bytes, but for keys of no bytes: each of these takes a length.
  for (std::size_t events = 0; requests.reads() && requests.read(begin, bytes, event); ++events) {
    if (begin + bytes != end || events > static_cast<std::size_t>(end - begin) + 64 * 1024) std::abort();
    if (event.key)
      for (std::size_t i = 0; i < event.bytes; ++i) seen = seen + static_cast<unsigned char>(event.key[i]);
  }
}

}  // namespace

// The first byte says how long pieces are; a piece of 0xFF bytes is one that was lost.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = 1 + data[0];
  StoreRequests requests;
  requests.begin();
  for (std::size_t at = 1; at < size; at += piece) {
    std::size_t bytes = std::min(piece, size - at);
    bool lost = std::all_of(data + at, data + at + bytes, [](std::uint8_t byte) { return byte == 0xFF; });
    StoreRequests::Event event;
    if (lost)
      requests.lose(event);
    else
      send(requests, data + at, bytes);
  }
  return 0;
}
