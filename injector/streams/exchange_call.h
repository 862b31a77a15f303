// Queues, semaphores, memory and events of the operating system, by which processes tell each other
// something.
#pragma once
#include <type_traits>

#include "injector/core/hook.h"
#include "injector/files/io.h"
#include "trace/exchange.h"

namespace ddpscope::injector {

struct ExchangeObject {
  std::uint64_t space, id;
  int fd = -1;
};

// A run of calls on one object is one record. As in stream_io.h: nothing inside a vendor's call.
trace::OpenRecord begin_exchange(Call call, Weight weight, const ExchangeObject& object);
// Keeps errno.
void end_exchange(const trace::OpenRecord& record, bool succeeded);

// The object behind a queue's descriptor; one system call.
ExchangeObject posix_queue(int queue);

// An event or inotify descriptor, met for the first time; ignored if `fd` is neither.
Descriptor meet_event(int fd);

// A read or write of one.
trace::OpenRecord begin_event_io(Descriptor d, Direction direction, int fd);

// Memory that forked children will share. After the real call.
void note_anonymous_memory(const void* address);

template <Call call, class RealCall>
inline auto recorded_exchange(const ExchangeObject& object, RealCall real_call) {
  static_assert(std::is_same_v<PayloadOf<call>, trace::payload::Exchange>);
  trace::OpenRecord record = begin_exchange(call, Weight::kOpens, object);
  auto result = real_call();
  end_exchange(record, result != static_cast<decltype(result)>(-1));
  return result;
}

// A call that raises semaphores, and may wait until others have done their part: two records, of which a run
// is two as well.
struct SemaphoreRecords {
  trace::OpenRecord awaited, told;
};
SemaphoreRecords begin_semaphores(Call call, const ExchangeObject& set);

template <Call call, class RealCall>
inline int recorded_semaphores(int id, RealCall real_call) {
  SemaphoreRecords records =
      begin_semaphores(call, {trace::kSystemVSemaphores, static_cast<std::uint64_t>(id)});
  int result = real_call();
  end_exchange(records.told, result != -1);
  end_exchange(records.awaited, result != -1);
  return result;
}

}  // namespace ddpscope::injector
