// What a client asks of PyTorch's TCPStore, read from the bytes that it sends: which keys, and to do what.
#pragma once
#include <cstddef>
#include <cstdint>

#include "trace/streams.h"

namespace ddpscope::injector {

using trace::StoreOperation;

// Reads requests piece by piece, as they are sent. A request is a byte that says what, then keys and values:
// each a length of 8 bytes (little-endian) and as many bytes; where several keys may stand their number goes
// before them. Since PyTorch 2.1 a connection begins with a request of its own (0 and a magic number), and
// the numbers of the operations have moved. Source: PyTorch's torch/csrc/distributed/c10d/TCPStore.cpp and
// TCPStoreBackend.hpp, 1.10 to 2.9.
class StoreRequests {
 public:
  // What was read: either a key, or what its request asks of the key that came last.
  struct Event {
    const char* key;  // nullptr: `operation` is told
    std::size_t bytes;
    StoreOperation operation;
    bool with_key;  // false: of no key (kUnknown, kCountKeys), or of one whose bytes came in several pieces
  };

  // From the first byte on that a connection sends.
  void begin();
  void stop() { state_ = State::kNoStore; }
  // False: nothing that is sent needs to be looked at.
  bool reads() const { return state_ != State::kNoStore; }

  // Reads on from `data`, which it moves. True: there is an event. False: all is read, or a request has
  // ended.
  bool read(const unsigned char*& data, std::size_t& bytes, Event& event);
  // No byte of a request is awaited: the next one begins a new request.
  bool between_requests() const { return !part_; }
  // Bytes are missing, or not what a client sends. True: keys had been read, and an event tells of the end.
  bool lose(Event& event);

 private:
  enum class State : std::uint8_t { kNoStore, kFresh, kLikely, kKnown };

  bool choose(unsigned char number);
  void next_repetition();
  bool take_number(const unsigned char*& data, std::size_t& bytes);
  bool use_number();
  bool take_part(const unsigned char*& data, std::size_t& bytes, Event& event);

  State state_ = State::kNoStore;
  StoreOperation operation_ = StoreOperation::kUnknown;
  bool since_2_1_ = false;
  bool with_key_ = false;        // the key that came last was told
  bool counted_ = false;         // how long the part is is known
  bool in_pieces_ = false;       // some of the part was in an earlier send
  std::uint8_t digits_ = 0;      // bytes of number_ so far
  const char* part_ = nullptr;   // what the request still consists of; nullptr: none has begun
  const char* again_ = nullptr;  // what is repeated for each of keys_
  std::uint64_t number_ = 0;
  std::uint64_t left_ = 0;  // bytes of the part
  std::uint64_t keys_ = 0;  // still to come, this one included
};

}  // namespace ddpscope::injector
