/* Entry points for software that replaces a framework's GPU operators by CPU code (standin/torch). NVIDIA's
 * libcudart has none of them: find them by dlsym(RTLD_DEFAULT, NAME). Plain C, without CUDA's headers. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;

/* A kernel whose body is a function of the host. `name`: mangled, or any text; the same text gives the same
 * kernel. A tracer that is preloaded sees it registered as nvcc's kernels are. */
const void* standin_kernel(const char* name);

/* Queues `function(data)` as one launch of `kernel`: a tracer sees one cudaLaunchKernel, a profiler the
 * kernel with its times. The current device must be the stream's. `release(data)` is called once, when
 * nothing can call `function` any more: after it ran, with the last graph that captured it, or at once when
 * the launch fails. The function runs in the stream's thread and must not wait for the stream. Returns a
 * cudaError_t. */
int standin_launch(const void* kernel, void (*function)(void*), void* data, void (*release)(void*),
                   struct CUstream_st* stream);

/* Waits for the stream as cudaStreamSynchronize does, but no tracer and no profiler sees it: for waits that
 * the program did not ask for. Returns a cudaError_t. */
int standin_wait(struct CUstream_st* stream);

/* From now on a launch of a kernel without a CPU body fails with cudaErrorNoKernelImageForDevice, and says
 * so. Until then such a kernel does nothing. */
void standin_require_bodies(void);

/* Work that was queued has failed: says `message` and lets every later CUDA call of the process fail with
 * cudaErrorLaunchFailure, as after a fault of a kernel. */
void standin_fail(const char* message);

/* For a process that ends: from now on no function that was given to standin_launch() is called, and none is
 * still running when this returns. */
void standin_stop(void);

#ifdef __cplusplus
}
#endif
