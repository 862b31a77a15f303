// Lets no finding be looked for until events of the trace were seen: what comes first does not depend on
// chance.
#pragma once
#include <atomic>
#include <chrono>
#include <future>
#include <string_view>

#include "collector/merged/reader.h"
#include "collector/reading/progress.h"

namespace ddpscope::tests {

class HeldFindings : public reading::Progress {
 public:
  void at(const char* stage, std::uint64_t, std::uint64_t) override {
    if (std::string_view(stage) != "looking for findings") return;
    if (seen_.wait_for(std::chrono::seconds(60)) != std::future_status::ready) too_late_ = true;
  }
  void see(const merged::Reader& preview) {
    if (!preview.tracks().empty() && !let_.exchange(true)) let_go_.set_value();
  }
  bool too_late() const { return too_late_; }  // no events came

 private:
  std::promise<void> let_go_;
  std::shared_future<void> seen_{let_go_.get_future()};
  std::atomic<bool> let_{false}, too_late_{false};
};

}  // namespace ddpscope::tests
