// What ties the library to its process: descriptors that a forked child must not keep, threads without
// signals.
#pragma once

#include <atomic>
#include <functional>

namespace ddpscope::standin::nccl {

/// True in a child made by fork: its parent's sockets are closed there and it has none of its threads.
bool in_forked_child();

/// Runs `body` in a detached thread with all signals blocked: signals belong to the program's own threads,
/// and a process may exit at any time without waiting for ours.
void start_thread(std::function<void()> body);

/// An owned file descriptor; closed in the destructor and in a forked child, where an inherited copy would
/// hide the death of this process from its peers.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd);
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

/// Ends every wait of a communicator, for good: raised by abort and revoke.
class Release {
 public:
  Release();
  void raise();
  bool raised() const { return raised_.load(std::memory_order_acquire); }
  int fd() const { return event_.fd(); }  ///< readable once raised

 private:
  Descriptor event_;
  std::atomic<bool> raised_{false};
};

}  // namespace ddpscope::standin::nccl
