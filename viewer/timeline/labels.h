// What stands on a bar, made from all that is known of its event: a few words, kept once made.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "collector/merged/reader.h"
#include "viewer/timeline/track_walk.h"

namespace ddpscope::viewer {

// "read train_001.bin", "#12 barrier", "waits: cudaStreamSynchronize", "#3–#5 cudaGraphLaunch", a kernel's
// name without what templates add.
std::string label_of(const merged::Detail& detail, std::string_view name);
// Of which numbers it is in its communicator: "#12"; of a graph's launch "#12–#15", of one that runs those of
// several communicators "#12–#15, #3".
std::string numbers_of(const std::vector<merged::CollectiveRef>& collectives);
std::string numbers_of(const merged::CollectiveRef& collective);
// Without details: the call's or kernel's name, shortened.
std::string plain_label(const merged::Event& event, std::string_view name);
std::string_view base_name(std::string_view path);

// Details may have to be read: a thread of its own does it, and makes those that were asked for last first.
class Labels {
 public:
  explicit Labels(const merged::Reader& reader) : reader_(reader) {}
  ~Labels();
  Labels(const Labels&) = delete;

  // The plain one as long as no other has been made. An unlimited budget waits for it.
  std::string of(merged::EventPlace place, WalkBudget& budget);
  // Called by the other thread when some have been made. Set it before the first of().
  void on_arrival(std::function<void()> wake) { wake_ = std::move(wake); }

 private:
  static constexpr std::size_t kMostKept = 20'000, kMostWanted = 512;

  std::string plain(merged::EventPlace place) const;
  std::string made(merged::EventPlace place) const;
  void run();

  const merged::Reader& reader_;
  std::function<void()> wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<merged::EventPlace, std::string> made_;
  std::deque<merged::EventPlace> wanted_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace ddpscope::viewer
