// A child of the guest that does something and ends by itself; how it ended goes to standard output.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

inline void in_child(void (*what)()) {
  pid_t child = fork();
  if (child == 0) {
    what();
    exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("child %d\n", status);
}
