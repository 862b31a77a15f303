// When the program knows that what it began is done.
//
// A request that a wait or a test completes is another object's afterwards, or none: so it says which were
// completed.
#include "injector/mpi/recording.h"

using namespace ddpscope::injector;
using namespace ddpscope::injector::mpi;
namespace trace = ddpscope::trace;

namespace {

using trace::payload::GroupWork;

const Handle* request_at(const Handle* requests, int i) {
  return reinterpret_cast<const Handle*>(reinterpret_cast<const char*>(requests) +
                                         static_cast<std::size_t>(i) * handle_bytes());
}

// Collectives among the requests of one call, with the requests as they were before.
class Awaited {
 public:
  Awaited(const Handle* requests, int count) : requests_(requests) {
    for (int i = 0; i < count && used_ < kMost; ++i) {
      const void* request = request_in(request_at(requests, i));
      if (KnownWork work = find_work(request); work.operation)
        items_[used_++] = {i, request, work.operation, {}};
    }
  }

  // A wait of which it is known at its begin what it waits for.
  template <Call call>
  void begin() {
    trace::FileWriter* file = recorder(Weight::kOpens);
    OwnWork work(file);
    if (!work) return;
    std::uint32_t stack = current_stack(*file);
    if (!used_) other_ = open<call>(*file, 0, stack);
    for (int i = 0; i < used_; ++i) items_[i].record = open<call>(*file, items_[i].operation, stack);
  }

  // A wait for one of several.
  template <Call call>
  void begin_any() {
    trace::FileWriter* file = recorder(Weight::kOpens);
    OwnWork work(file);
    if (work) other_ = open<call>(*file, 0, current_stack(*file));
  }

  // What was not recorded before is now, if it was completed.
  template <Call call>
  void end_all(int result) {
    finish(other_, result);
    for (int i = 0; i < used_; ++i) {
      Item& item = items_[i];
      bool is_done = request_in(request_at(requests_, item.place)) != item.request;
      if (item.record) finish(item.record, result);
      if (!is_done) continue;
      remember_work(item.request, {});
      if (!item.record) record_end_of<call>(item.operation);
    }
  }

 private:
  static constexpr int kMost = 32;
  struct Item {
    int place;
    const void* request;
    std::uint64_t operation;
    OpenRecord record;
  };

  template <Call call>
  static OpenRecord open(trace::FileWriter& file, std::uint64_t operation, std::uint32_t stack) {
    GroupWork payload{communicator_of(operation), sequence_of(operation), 0, 0};
    return this_thread.writer.open_regular<call>(file, payload, now(file), stack);
  }

  template <Call call>
  static void record_end_of(std::uint64_t operation) {
    trace::FileWriter* file = open_recorder();
    OwnWork work(file);
    if (work) ::ddpscope::injector::end(open<call>(*file, operation, current_stack(*file)));
  }

  static void finish(const OpenRecord& record, int result) {
    if (auto* payload = results_in<GroupWork>(record)) payload->result = result != kSuccess;
    ::ddpscope::injector::end(record);
  }

  const Handle* requests_;
  Item items_[kMost];
  int used_ = 0;
  OpenRecord other_;  // a wait for what is no collective, or for one of several
};

enum class When { kBegin, kAny, kEnd };

template <Call call, When when, class... Params, class... Args>
int awaited(int (*self)(Params...), const Handle* requests, int count, Args... arguments) {
  auto* function = real<call>(self);
  if (!function) return kNoMpi;
  Awaited items(requests, count);
  if constexpr (when == When::kBegin) items.begin<call>();
  if constexpr (when == When::kAny) items.begin_any<call>();
  int result = function(arguments...);
  items.end_all<call>(result);
  return result;
}

}  // namespace

DDPSCOPE_EXPORT int MPI_Wait(Handle* request, void* status) {
  return awaited<Call::MPI_Wait, When::kBegin>(&MPI_Wait, request, 1, request, status);
}

DDPSCOPE_EXPORT int MPI_Waitall(int count, Handle* requests, void* statuses) {
  return awaited<Call::MPI_Waitall, When::kBegin>(&MPI_Waitall, requests, count, count, requests, statuses);
}

DDPSCOPE_EXPORT int MPI_Waitany(int count, Handle* requests, int* index, void* status) {
  return awaited<Call::MPI_Waitany, When::kAny>(&MPI_Waitany, requests, count, count, requests, index,
                                                status);
}

DDPSCOPE_EXPORT int MPI_Waitsome(int count, Handle* requests, int* completed, int* indices, void* statuses) {
  return awaited<Call::MPI_Waitsome, When::kAny>(&MPI_Waitsome, requests, count, count, requests, completed,
                                                 indices, statuses);
}

DDPSCOPE_EXPORT int MPI_Test(Handle* request, int* flag, void* status) {
  return awaited<Call::MPI_Test, When::kEnd>(&MPI_Test, request, 1, request, flag, status);
}

DDPSCOPE_EXPORT int MPI_Testall(int count, Handle* requests, int* flag, void* statuses) {
  return awaited<Call::MPI_Testall, When::kEnd>(&MPI_Testall, requests, count, count, requests, flag,
                                                statuses);
}

DDPSCOPE_EXPORT int MPI_Testany(int count, Handle* requests, int* index, int* flag, void* status) {
  return awaited<Call::MPI_Testany, When::kEnd>(&MPI_Testany, requests, count, count, requests, index, flag,
                                                status);
}

DDPSCOPE_EXPORT int MPI_Testsome(int count, Handle* requests, int* completed, int* indices, void* statuses) {
  return awaited<Call::MPI_Testsome, When::kEnd>(&MPI_Testsome, requests, count, count, requests, completed,
                                                 indices, statuses);
}
