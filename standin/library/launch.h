// How a library of this folder has the CPU do what a GPU's kernel would.
#pragma once

#include <driver_types.h>

#include <functional>

namespace ddpscope::standin::library {

using Work = std::function<void()>;

/// Runs `work` in stream order: profilers and tracers see one launch of a kernel called `name` (never freed).
/// While the stream captures, the graph keeps `work` and runs it each time. `work` must not use CUDA.
cudaError_t launch(const char* name, cudaStream_t stream, Work work);

}  // namespace ddpscope::standin::library
