// A place is the content of its stack: file names and lines, or modules and offsets.
#include "collector/matching/call_sites.h"

#include <functional>

namespace ddpscope::matching {
namespace {

void mix(std::uint64_t& hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  hash ^= hash >> 32;
}

std::uint64_t content_of(const trace::TraceFile& file, std::uint32_t stack) {
  std::uint64_t hash = 0;
  for (const trace::StackFrame& frame : file.stack(stack)) {
    mix(hash, std::hash<std::string_view>{}(file.string(frame.file)));
    mix(hash, std::hash<std::string_view>{}(file.string(frame.function)));
    mix(hash, frame.line);
    mix(hash, frame.address);
  }
  return hash;
}

}  // namespace

std::uint32_t CallSites::number(std::uint32_t process, std::uint32_t stack) {
  if (stack == 0) return 0;
  auto [known, fresh] = known_[process].emplace(stack, 0);
  if (!fresh) return known->second;
  const trace::TraceFile& file = job_.processes[process].file;
  if (file.stack(stack).empty()) return 0;
  auto [content, is_new] = by_content_.emplace(content_of(file, stack), next_);
  if (is_new) ++next_;
  return known->second = content->second;
}

}  // namespace ddpscope::matching
