// The window: GLFW's events become the app's keys and mouse; frames are drawn when something happened, and
// not else.
#pragma once
#include <atomic>
#include <future>
#include <memory>
#include <string>

#include "collector/reading/progress.h"
#include "trace/result.h"
#include "viewer/app/app.h"

namespace ddpscope::viewer {

// How far another thread has come with the trace.
class Loading : public reading::Progress {
 public:
  void at(const char* stage, std::uint64_t done, std::uint64_t all) override {
    stage_ = stage, done_ = done, all_ = all;
  }
  const char* stage() const { return stage_; }
  std::uint64_t done() const { return done_; }
  std::uint64_t all() const { return all_; }

 private:
  std::atomic<const char*> stage_{"opening"};
  std::atomic<std::uint64_t> done_{0}, all_{0};
};

struct Opened {
  std::unique_ptr<App> app;  // null: `error` says why
  Error error{};
};
using Opening = std::future<Opened>;

// Until the user closes it; shows how far `opening` has come until that is done. `start`: begins it, once
// there is a window. Errors: no display; OpenGL older than 3.3; what the opening says.
Result<bool> show_window(const std::string& title, const AppOptions& options, const Loading& loading,
                         const std::function<Opening()>& start);

}  // namespace ddpscope::viewer
