// A library whose start makes calls before the injector's own start.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void* nothing(void* argument) { return argument; }

__attribute__((constructor(101))) static void begin(void) {
  pthread_t thread;
  int fd = open("early", O_CREAT | O_WRONLY, 0600);
  if (fd < 0 || write(fd, "abc", 3) != 3 || close(fd) != 0) abort();
  if (!dlsym(RTLD_DEFAULT, "open") || dlsym(RTLD_DEFAULT, "ncclNoSuchFunction")) abort();
  if (pthread_create(&thread, NULL, nothing, NULL) != 0 || pthread_join(thread, NULL) != 0) abort();
}
