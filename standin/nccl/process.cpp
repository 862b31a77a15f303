// Fork, threads and descriptors of the stand-in.
#include "standin/nccl/process.h"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>

#include "standin/nccl/failure.h"

namespace ddpscope::standin::nccl {
namespace {

constinit std::atomic<bool> forked_child{false};

// Never destroyed: stream threads may still use descriptors while the process exits.
struct OpenDescriptors {
  std::mutex mutex;
  std::set<int> fds;
};

OpenDescriptors& open_descriptors() {
  static auto* const open = [] {
    auto* created = new OpenDescriptors;
    pthread_atfork([] { open_descriptors().mutex.lock(); }, [] { open_descriptors().mutex.unlock(); },
                   [] {
                     forked_child.store(true);
                     for (int fd : open_descriptors().fds) close(fd);
                     open_descriptors().mutex.unlock();
                   });
    return created;
  }();
  return *open;
}

}  // namespace

bool in_forked_child() { return forked_child.load(std::memory_order_relaxed); }

void start_thread(std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread(std::move(body)).detach();
  } catch (const std::system_error& error) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw Failure(ncclSystemError, std::string("cannot start a thread: ") + error.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Descriptor::Descriptor(int fd) : fd_(fd) {
  if (fd < 0)
    throw Failure(ncclSystemError, std::string("cannot open a descriptor: ") + std::strerror(errno));
  std::lock_guard lock(open_descriptors().mutex);
  open_descriptors().fds.insert(fd);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ < 0 || in_forked_child()) return;
  std::lock_guard lock(open_descriptors().mutex);
  open_descriptors().fds.erase(fd_);
  close(fd_);
}

Release::Release() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Release::raise() {
  raised_.store(true, std::memory_order_release);
  eventfd_write(event_.fd(), 1);
}

}  // namespace ddpscope::standin::nccl
