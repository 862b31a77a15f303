// Queues of System V and POSIX, semaphores and memory of System V, event descriptors.
#include <mqueue.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#include "injector/streams/exchange_call.h"

using namespace ddpscope::injector;

namespace {

ExchangeObject queue(int id) { return {ddpscope::trace::kSystemVQueue, static_cast<std::uint64_t>(id)}; }

// semctl is variadic: which commands take a fourth word, semctl(2).
bool takes_argument(int command) {
  switch (command) {
    case IPC_RMID:
    case GETVAL:
    case GETPID:
    case GETNCNT:
    case GETZCNT:
      return false;
    default:
      return true;
  }
}

bool asks(int command) {
  return command == GETVAL || command == GETALL || command == GETNCNT || command == GETZCNT ||
         command == GETPID;
}
bool tells(int command) { return command == SETVAL || command == SETALL || command == IPC_RMID; }

}  // namespace

DDPSCOPE_EXPORT int msgsnd(int id, const void* message, size_t bytes, int flags) {
  return recorded_exchange<Call::msgsnd>(
      queue(id), [&] { return real<Call::msgsnd>(&msgsnd)(id, message, bytes, flags); });
}

DDPSCOPE_EXPORT ssize_t msgrcv(int id, void* message, size_t bytes, long type, int flags) {
  return recorded_exchange<Call::msgrcv>(
      queue(id), [&] { return real<Call::msgrcv>(&msgrcv)(id, message, bytes, type, flags); });
}

DDPSCOPE_EXPORT int mq_send(mqd_t id, const char* message, size_t bytes, unsigned priority) {
  return recorded_exchange<Call::mq_send>(
      posix_queue(id), [&] { return real<Call::mq_send>(&mq_send)(id, message, bytes, priority); });
}

DDPSCOPE_EXPORT int mq_timedsend(mqd_t id, const char* message, size_t bytes, unsigned priority,
                                 const timespec* until) {
  return recorded_exchange<Call::mq_timedsend>(posix_queue(id), [&] {
    return real<Call::mq_timedsend>(&mq_timedsend)(id, message, bytes, priority, until);
  });
}

DDPSCOPE_EXPORT ssize_t mq_receive(mqd_t id, char* message, size_t bytes, unsigned* priority) {
  return recorded_exchange<Call::mq_receive>(
      posix_queue(id), [&] { return real<Call::mq_receive>(&mq_receive)(id, message, bytes, priority); });
}

DDPSCOPE_EXPORT ssize_t mq_timedreceive(mqd_t id, char* message, size_t bytes, unsigned* priority,
                                        const timespec* until) {
  return recorded_exchange<Call::mq_timedreceive>(posix_queue(id), [&] {
    return real<Call::mq_timedreceive>(&mq_timedreceive)(id, message, bytes, priority, until);
  });
}

DDPSCOPE_EXPORT int semop(int id, sembuf* operations, size_t count) {
  return recorded_semaphores<Call::semop>(id,
                                          [&] { return real<Call::semop>(&semop)(id, operations, count); });
}

DDPSCOPE_EXPORT int semtimedop(int id, sembuf* operations, size_t count, const timespec* longest) {
  return recorded_semaphores<Call::semtimedop>(
      id, [&] { return real<Call::semtimedop>(&semtimedop)(id, operations, count, longest); });
}

DDPSCOPE_EXPORT int semctl(int id, int number, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* argument = takes_argument(command) ? va_arg(arguments, void*) : nullptr;
  va_end(arguments);
  auto real_call = [&] { return real<Call::semctl>(&semctl)(id, number, command, argument); };
  ExchangeObject set{ddpscope::trace::kSystemVSemaphores, static_cast<std::uint64_t>(id)};
  if (tells(command)) return recorded_exchange<Call::semctl>(set, real_call);
  if (asks(command)) return recorded_exchange<Call::semaphore_awaited>(set, real_call);
  return real_call();
}

DDPSCOPE_EXPORT void* shmat(int id, const void* address, int flags) {
  ExchangeObject memory{ddpscope::trace::kSystemVMemory, static_cast<std::uint64_t>(id)};
  ddpscope::trace::OpenRecord record = begin_exchange(Call::shmat, Weight::kOpens, memory);
  void* attached = real<Call::shmat>(&shmat)(id, address, flags);
  end_exchange(record, attached != reinterpret_cast<void*>(-1));
  return attached;
}

// Inside libc these are a read and a write that no hook sees.

DDPSCOPE_EXPORT int eventfd_read(int fd, eventfd_t* value) {
  auto read = [&] { return ssize_t{real<Call::eventfd_read>(&eventfd_read)(fd, value)}; };
  return static_cast<int>(recorded_read<Call::read, Call::socket_read>(fd, kHere, read));
}

DDPSCOPE_EXPORT int eventfd_write(int fd, eventfd_t value) {
  auto write = [&] { return ssize_t{real<Call::eventfd_write>(&eventfd_write)(fd, value)}; };
  return static_cast<int>(recorded_write<Call::write, Call::socket_write>(fd, kHere, nullptr, 0, write));
}
