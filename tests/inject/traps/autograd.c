// A thread with a Python thread state and no frames, as PyTorch's autograd threads are: the caller waits for
// it without the GIL.
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

int PyGILState_Ensure(void);
void PyGILState_Release(int state);
void* PyEval_SaveThread(void);
void PyEval_RestoreThread(void* state);
int consume(size_t count);

static void* run(void* count) {
  int gil = PyGILState_Ensure();
  void* state = PyEval_SaveThread();
  usleep(50000);  // until the main thread sleeps in pthread_join
  consume((size_t)count);
  PyEval_RestoreThread(state);
  PyGILState_Release(gil);
  return NULL;
}

int backward(size_t count) {
  pthread_t thread;
  pthread_create(&thread, NULL, run, (void*)count);
  return pthread_join(thread, NULL);
}
