// What CUDA 13 no longer has under any name.
#include "standin/library/refusal.h"

enum { cudaErrorNotSupported = 801 };
STANDIN_REFUSED("libcudart", int, cudaErrorNotSupported, cudaLaunchCooperativeKernelMultiDevice)
STANDIN_REFUSED("libcudart", int, cudaErrorNotSupported, cudaSetDoubleForDevice)
STANDIN_REFUSED("libcudart", int, cudaErrorNotSupported, cudaSetDoubleForHost)
