// What CUDA 13's CUPTI no longer has.
#include "standin/library/refusal.h"

enum { CUPTI_ERROR_NOT_SUPPORTED = 27 };
STANDIN_REFUSED("libcupti", int, CUPTI_ERROR_NOT_SUPPORTED, cuptiDisableNonOverlappingMode)
STANDIN_REFUSED("libcupti", int, CUPTI_ERROR_NOT_SUPPORTED, cuptiEnableNonOverlappingMode)
