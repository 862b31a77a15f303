// The window: GLFW's events become the app's keys and mouse; frames are drawn when something happened, and
// not else.
#pragma once
#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <string>

#include "collector/reading/progress.h"
#include "trace/result.h"
#include "viewer/app/app.h"

namespace ddpscope::viewer {

// How far another thread has come with the trace, and what of it can be looked at already.
class Loading : public reading::Progress {
 public:
  void at(const char* stage, std::uint64_t done, std::uint64_t all) override {
    stage_ = stage, done_ = done, all_ = all;
  }
  std::string text() const;  // "writing time lines, 12 of 64"
  float part() const {       // of the stage, 0..1
    std::uint64_t all = all_;
    return all ? std::min(static_cast<float>(done_) / static_cast<float>(all), 1.0f) : 0;
  }

  // By the other thread; what was there and not taken is gone.
  void show(std::unique_ptr<App> preview) {
    std::lock_guard lock(mutex_);
    preview_ = std::move(preview);
  }
  // Null: none has come since.
  std::unique_ptr<App> take_preview() {
    std::lock_guard lock(mutex_);
    return std::move(preview_);
  }

 private:
  std::atomic<const char*> stage_{"opening"};
  std::atomic<std::uint64_t> done_{0}, all_{0};
  std::mutex mutex_;
  std::unique_ptr<App> preview_;
};

struct Opened {
  std::unique_ptr<App> app;  // null: `error` says why
  Error error{};
};
using Opening = std::future<Opened>;

// Until the user closes it; shows previews, and how far `opening` has come, until that is done. `start`:
// begins it, once there is a window. Errors: no display; OpenGL older than 3.3; what the opening says.
Result<bool> show_window(const std::string& title, const AppOptions& options, Loading& loading,
                         const std::function<Opening()>& start);

}  // namespace ddpscope::viewer
