// An allocator that takes a mutex, as many do.
#include <pthread.h>
#include <stddef.h>

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void __libc_free(void* old);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void* locked(void* result) {
  pthread_mutex_unlock(&mutex);
  return result;
}

void* malloc(size_t bytes) {
  pthread_mutex_lock(&mutex);
  return locked(__libc_malloc(bytes));
}
void* calloc(size_t count, size_t bytes) {
  pthread_mutex_lock(&mutex);
  return locked(__libc_calloc(count, bytes));
}
void* realloc(void* old, size_t bytes) {
  pthread_mutex_lock(&mutex);
  return locked(__libc_realloc(old, bytes));
}
void free(void* old) {
  pthread_mutex_lock(&mutex);
  __libc_free(old);
  pthread_mutex_unlock(&mutex);
}
