// What is called an optimizer's update: by the words of a kernel's name (optimizer_kernels.def) or of a range
// that the program names (optimizer_ranges.def).
#pragma once
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "trace/read/trace_file.h"

namespace ddpscope::patterns {

// `name` may be mangled, as CUDA's registration gives it, or not.
bool is_optimizer_kernel(std::string_view name);
bool is_optimizer_range(std::string_view name);

// Names of one process; each is looked at once.
class KnownNames {
 public:
  using Judge = bool(std::string_view name);
  KnownNames(const trace::TraceFile& file, Judge* judge) : file_(file), judge_(judge) {}
  bool has(std::uint32_t name) {  // string id
    auto [known, fresh] = known_.try_emplace(name, false);
    if (fresh) known->second = judge_(file_.string(name));
    return known->second;
  }

 private:
  const trace::TraceFile& file_;
  Judge* judge_;
  std::unordered_map<std::uint32_t, bool> known_;  // by string id
};

}  // namespace ddpscope::patterns
