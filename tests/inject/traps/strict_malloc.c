// An allocator that calls much of libc while it works, as if under its lock: whatever it calls must not
// allocate.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void __libc_free(void* old);

static __thread int busy __attribute__((tls_model("initial-exec")));
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;

// Once: it takes a lock of the loader, which another thread may hold while it allocates.
static void look_up(void) {
  static int begun;
  if (__atomic_exchange_n(&begun, 1, __ATOMIC_RELAXED)) return;
  if (!dlsym(RTLD_NEXT, "pthread_create")) __builtin_trap();
  sem_init(&semaphore, 0, 1);
}

static void call_libc(void) {
  char text[64];
  struct stat status;
  if (readlink("/etc/malloc.conf", text, sizeof(text)) > 0 || access("/etc/malloc.conf", F_OK) == 0) return;
  int file = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
  if (file < 0 || fstat(file, &status) != 0 || read(file, text, sizeof(text)) < 1 || close(file) != 0)
    __builtin_trap();
  void* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED || munmap(page, 4096) != 0 || syscall(SYS_getpid) != getpid()) __builtin_trap();
  pthread_cond_signal(&condition);
  sem_wait(&semaphore);
  sem_post(&semaphore);
}

static void begin(void) {
  if (busy) __builtin_trap();
  busy = 1;
  look_up();
  pthread_mutex_lock(&mutex);
  call_libc();
}

static void* end(void* result) {
  pthread_mutex_unlock(&mutex);
  busy = 0;
  return result;
}

void* malloc(size_t bytes) {
  begin();
  return end(__libc_malloc(bytes));
}
void* calloc(size_t count, size_t bytes) {
  begin();
  return end(__libc_calloc(count, bytes));
}
void* realloc(void* old, size_t bytes) {
  begin();
  return end(__libc_realloc(old, bytes));
}
void free(void* old) {
  begin();
  __libc_free(old);
  end(NULL);
}
