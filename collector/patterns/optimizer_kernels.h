// Which kernels are an optimizer's update: by the words of their names (optimizer_kernels.def).
#pragma once
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "trace/read/trace_file.h"

namespace ddpscope::patterns {

// `name` may be mangled, as CUDA's registration gives it, or not.
bool is_optimizer_kernel(std::string_view name);

// Those of one process; each name is looked at once.
class OptimizerKernels {
 public:
  explicit OptimizerKernels(const trace::TraceFile& file) : file_(file) {}
  bool has(std::uint32_t name) {  // string id
    auto [known, fresh] = known_.try_emplace(name, false);
    if (fresh) known->second = is_optimizer_kernel(file_.string(name));
    return known->second;
  }

 private:
  const trace::TraceFile& file_;
  std::unordered_map<std::uint32_t, bool> known_;  // by string id
};

}  // namespace ddpscope::patterns
