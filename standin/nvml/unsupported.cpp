// Every function of NVML that the stand-in does not provide, above all the measurements: a CPU has neither
// the temperature nor the clocks of a GPU, and answers as a GPU without the sensor does. Says once who asked.
// The list of names (nvml_exported.def) is made from nvml.h, which is not included here.
#include "standin/library/refusal.h"

#define EXPORTED(function) STANDIN_REFUSED("libnvidia-ml", int, NVML_ERROR_NOT_SUPPORTED, function)
enum { NVML_ERROR_NOT_SUPPORTED = 3 };
#include "nvml_exported.def"
