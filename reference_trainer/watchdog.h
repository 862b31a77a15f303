// Ends a rank that makes no progress: says where it is stuck, aborts its communicators, exits with code 1.
#pragma once

#include <nccl.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace reference_trainer {

class Watchdog {
 public:
  Watchdog(int rank, std::chrono::milliseconds timeout);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog();

  // The main thread has come this far: the clock starts anew.
  void at(std::string place);
  // From here on an error of this communicator (a peer that is gone) ends the rank as well.
  void watch(ncclComm_t communicator);
  // Must precede the communicator's destruction.
  void forget(ncclComm_t communicator);

 private:
  void run();
  std::string trouble();
  [[noreturn]] void give_up(const std::string& why);

  const int rank_;
  const std::chrono::milliseconds timeout_;
  std::mutex mutex_;
  std::condition_variable stopped_changed_;
  bool stopped_ = false;
  std::string place_ = "start";
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  std::vector<ncclComm_t> communicators_;
  std::thread thread_;
};

}  // namespace reference_trainer
