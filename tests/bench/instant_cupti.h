// What the CUPTI that does nothing has beside CUPTI's functions.
#pragma once

// Hands its client a buffer with so many kernels, each with the external id of its call; bare: only fills it.
extern "C" void deliver_kernels(unsigned kernels);
extern "C" void bare_deliver_kernels(unsigned kernels);
