// Exports what CPython 2.7 does, and like it takes a lock to say whose thread is running.
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

static pthread_mutex_t keys = PTHREAD_MUTEX_INITIALIZER;
static sem_t posted;

void* PyGILState_GetThisThreadState(void) {
  pthread_mutex_lock(&keys);
  pthread_mutex_unlock(&keys);
  return NULL;
}
int PyCode_Addr2Line(void* code, int offset) { return code ? offset : 0; }
const char* Py_GetVersion(void) { return "2.7.18 (default)"; }
int _Py_IsFinalizing(void) { return 0; }
long PyCode_Type[64];

static void* post(void* unused) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0) sem_post(&posted);  // hands over that it was recorded
  return unused;
}

int main(void) {
  int ends[2];
  pthread_t thread;
  alarm(20);
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
  sem_init(&posted, 0, 0);
  pthread_create(&thread, NULL, post, NULL);
  pthread_mutex_lock(&keys);
  sem_wait(&posted);  // as Python does to get the lock of its keys
  pthread_mutex_unlock(&keys);
  pthread_join(thread, NULL);
  return 0;
}
