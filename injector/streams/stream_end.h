// One end of a connection or pipe: how many bytes this process has sent and received through it.
#pragma once
#include <atomic>
#include <cstdint>

#include "injector/streams/store_requests.h"

namespace ddpscope::injector {

struct StreamEnd {
  std::atomic<std::uint32_t> references{};  // descriptors
  std::uint32_t process{};  // fork_generation() in which the bytes were counted: a child counts its own
  std::uint64_t inode{};    // names the end; both ends of a pipe have the same one
  bool datagrams{};         // no stream: they may come in any order, or not at all
  std::atomic<std::uint64_t> sent{};
  std::atomic<std::uint64_t> received{};

  // Of a connection that was made from here, as long as it may be one to a key-value store. One thread at a
  // time, by `asking`.
  std::atomic<bool> may_ask{};
  std::atomic<bool> asking{};
  std::uint64_t read_to{};     // bytes of `sent` that `requests` has read
  std::uint64_t asked_from{};  // where the request that is being sent began
  std::uint32_t key{};         // the one that it named last, 0 if its text is not known
  StoreRequests requests;
};

}  // namespace ddpscope::injector
