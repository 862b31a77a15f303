// Names in shared memory: objects of shm_open are files, semaphores are not, but both meet by name.
#include <fcntl.h>
#include <semaphore.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include "injector/files/descriptors.h"
#include "injector/files/open_call.h"
#include "injector/files/paths.h"
#include "injector/threads/shared_semaphores.h"

namespace ddpscope::injector {
namespace {

constexpr char kFolder[] = "/dev/shm/";
constexpr char kSemaphores[] = "/dev/shm/sem.";

// `name` as the guest gives it begins with a slash, or not.
template <Call call>
OpenRecord begin_shared(const char* folder, const char* name) {
  static_assert(std::is_same_v<PayloadOf<call>, trace::payload::FileName>);
  trace::FileWriter* file = name ? recorder(Weight::kFollows) : nullptr;
  OwnWork work(file);
  if (!work) return {};
  while (*name == '/') ++name;
  std::size_t before = strlen(folder), size = before + strlen(name);
  char* path = static_cast<char*>(__builtin_alloca(size + 1));
  memcpy(path, folder, before);
  strcpy(path + before, name);
  if (folder == kFolder && is_ignored(path, size)) return {};
  trace::payload::FileName payload{};
  payload.path = this_thread.writer.intern(*file, path, size);
  payload.count = 1;
  return this_thread.writer.open<call>(*file, payload, now(*file), unwound_stack(*file));
}

template <Call call>
void end_shared(const OpenRecord& record, bool succeeded) {
  if (auto* payload = result_of<call>(record)) payload->error = succeeded ? 0 : errno;
  end(record);
}

}  // namespace
}  // namespace ddpscope::injector

using namespace ddpscope::injector;

DDPSCOPE_EXPORT int shm_open(const char* name, int flags, mode_t mode) {
  OpenRecord record = begin_shared<Call::shm_open>(kFolder, name);
  int fd = real<Call::shm_open>(&shm_open)(name, flags, mode);
  end_shared<Call::shm_open>(record, fd >= 0);
  if (fd >= 0) forget_descriptor(fd);
  return fd;
}

DDPSCOPE_EXPORT int shm_unlink(const char* name) {
  OpenRecord record = begin_shared<Call::shm_unlink>(kFolder, name);
  int result = real<Call::shm_unlink>(&shm_unlink)(name);
  end_shared<Call::shm_unlink>(record, result == 0);
  return result;
}

// Variadic: mode and first value are arguments only of a call that may create.
DDPSCOPE_EXPORT sem_t* sem_open(const char* name, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
  unsigned value = flags & O_CREAT ? va_arg(arguments, unsigned) : 0;
  va_end(arguments);
  OpenRecord record = begin_shared<Call::sem_open>(kSemaphores, name);
  sem_t* semaphore = real<Call::sem_open>(&sem_open)(name, flags, mode, value);
  end_shared<Call::sem_open>(record, semaphore != SEM_FAILED);
  if (semaphore != SEM_FAILED) forget_identity(semaphore);
  return semaphore;
}

DDPSCOPE_EXPORT int sem_unlink(const char* name) {
  OpenRecord record = begin_shared<Call::sem_unlink>(kSemaphores, name);
  int result = real<Call::sem_unlink>(&sem_unlink)(name);
  end_shared<Call::sem_unlink>(record, result == 0);
  return result;
}
