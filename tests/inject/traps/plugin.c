// Loads a library that only its own search path finds.
#include <dlfcn.h>
#include <stddef.h>

int load_inner(void) { return dlopen("libtrap_inner.so", RTLD_NOW) ? 0 : 1; }
