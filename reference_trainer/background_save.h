// A save that goes on in another thread or process while its rank trains.
#pragma once

#include <sys/types.h>

#include <exception>
#include <functional>
#include <thread>

namespace reference_trainer {

class BackgroundSave {
 public:
  BackgroundSave() = default;
  BackgroundSave(const BackgroundSave&) = delete;
  BackgroundSave& operator=(const BackgroundSave&) = delete;
  ~BackgroundSave();  // waits; what went wrong then is not told

  // Waits for the save before. `save` has copies of all that it needs, on the host.
  void in_thread(std::function<void()> save);
  void in_process(std::function<void()> save);

  // Returns when the save is done; throws what it threw, or std::runtime_error if its process failed.
  void wait();

 private:
  std::thread thread_;
  std::exception_ptr error_;  // of the thread
  pid_t process_ = 0;
};

}  // namespace reference_trainer
