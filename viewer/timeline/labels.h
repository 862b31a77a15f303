// What stands on a bar, made from all that is known of its event: a few words, kept once made.
#pragma once
#include <map>
#include <string>

#include "collector/merged/reader.h"
#include "viewer/timeline/track_walk.h"

namespace ddpscope::viewer {

// "read train_001.bin", "#12 barrier", "waits: cudaStreamSynchronize", a kernel's name without what templates
// add.
std::string label_of(const merged::Detail& detail, std::string_view name);
// Without details: the call's or kernel's name, shortened.
std::string plain_label(const merged::Event& event, std::string_view name);
std::string_view base_name(std::string_view path);

class Labels {
 public:
  explicit Labels(const merged::Reader& reader) : reader_(&reader) {}
  // The plain one as long as no details could be read in this frame's time.
  const std::string& of(merged::EventPlace place, const merged::Event& event, WalkBudget& budget);

 private:
  static constexpr std::size_t kMostKept = 20'000;

  const merged::Reader* reader_;
  std::map<merged::EventPlace, std::string> made_;
  std::string plain_;
};

}  // namespace ddpscope::viewer
