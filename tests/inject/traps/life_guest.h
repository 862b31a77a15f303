// What the parts of life_guest share.
#pragma once
#include <stddef.h>

// Calls on one communicator, of the fake NCCL.
void join();
int reduce(size_t count);

// life_opening.cpp; 0 if all is well.
int opened_meanwhile();
int opening_left();
int opening_begun_anew();
