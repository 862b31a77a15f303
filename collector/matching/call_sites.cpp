// A place is the content of its stack: file names and lines, or modules and offsets.
#include "collector/matching/call_sites.h"

#include <functional>

#include "collector/model/mix.h"

namespace ddpscope::matching {
std::vector<std::uint64_t> hash_frames(const trace::TraceFile& file, std::uint32_t stack) {
  std::vector<std::uint64_t> frames;
  for (const trace::StackFrame& frame : file.stack(stack)) {
    std::uint64_t hash = std::hash<std::string_view>{}(file.string(frame.file));
    hash = model::mix(hash, std::hash<std::string_view>{}(file.string(frame.function)));
    hash = model::mix(hash, frame.line);
    hash = model::mix(hash, frame.address);
    frames.push_back(hash);
  }
  return frames;
}

std::uint32_t CallSites::number(std::uint32_t process, std::uint32_t stack) {
  if (stack == 0) return 0;
  auto [known, fresh] = known_[process].try_emplace(stack, 0);
  if (!fresh) return known->second;
  std::vector<std::uint64_t> frames = hash_frames(job_.processes[process].file, stack);
  if (frames.empty()) return 0;
  auto [place, is_new] = by_frames_.try_emplace(frames, count());
  if (is_new) frames_.push_back(std::move(frames));
  return known->second = place->second;
}

}  // namespace ddpscope::matching
