// Counters in memory that several processes map; who waits sleeps on a futex.
#include "standin/cuda/shared_event.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

#include "standin/cuda/entry.h"

namespace ddpscope::standin {

struct SharedEvent::Cell {
  std::atomic<std::uint64_t> recorded;
  std::atomic<std::uint64_t> reached;
  std::atomic<std::int32_t> recorded_by;  ///< process of the latest record
  std::atomic<std::uint32_t> changes;     ///< the futex

  void reach(std::uint64_t record) {
    std::uint64_t before = reached.load();
    while (before < record && !reached.compare_exchange_weak(before, record)) {
    }
    changes.fetch_add(1);
    syscall(SYS_futex, &changes, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }
};

namespace {

constexpr std::size_t kCellBytes = 4096;  // a page: the least that can be mapped

bool is_gone(std::int32_t process) { return syscall(SYS_kill, process, 0) != 0 && errno == ESRCH; }

}  // namespace

/// A process that died reaches nothing any more: its device's work ended with it.
class SharedEvent::Reached : public Point {
 public:
  Reached(std::shared_ptr<SharedEvent> event, std::uint64_t record)
      : event_(std::move(event)), record_(record) {}

  bool passed() const override {
    return cell().reached.load() >= record_ || is_gone(cell().recorded_by.load());
  }

  void wait() override {
    constexpr timespec kLookAgain{1, 0};
    for (;;) {
      const std::uint32_t changes = cell().changes.load();
      if (passed()) return;
      syscall(SYS_futex, &cell().changes, FUTEX_WAIT, changes, &kLookAgain, nullptr, 0);
    }
  }

 private:
  Cell& cell() const { return *event_->cell_; }

  const std::shared_ptr<SharedEvent> event_;
  const std::uint64_t record_;
};

std::shared_ptr<SharedEvent> SharedEvent::make() {
  std::uint64_t offset = 0;
  void* memory = map_shareable(kCellBytes, offset);
  require(memory != nullptr, cudaErrorMemoryAllocation);
  return std::shared_ptr<SharedEvent>(new SharedEvent(static_cast<Cell*>(memory), offset));
}

std::shared_ptr<SharedEvent> SharedEvent::open(const SharedRange& range) {
  void* memory = range.bytes == kCellBytes ? map_foreign(range) : nullptr;
  require(memory != nullptr, cudaErrorInvalidResourceHandle);
  return std::shared_ptr<SharedEvent>(new SharedEvent(static_cast<Cell*>(memory), kNotShareable));
}

// The page stays in the file: a process that opened the event may still wait for it.
SharedEvent::~SharedEvent() { unmap_foreign(cell_, kCellBytes); }

SharedRange SharedEvent::range() const {
  require(offset_ != kNotShareable, cudaErrorInvalidResourceHandle);
  return share(offset_, kCellBytes);
}

Work SharedEvent::record() {
  cell_->recorded_by.store(getpid());
  const std::uint64_t record = cell_->recorded.fetch_add(1) + 1;
  return [self = shared_from_this(), record] { self->cell_->reach(record); };
}

std::shared_ptr<Point> SharedEvent::latest() {
  const std::uint64_t recorded = cell_->recorded.load();
  return recorded == 0 ? nullptr : std::make_shared<Reached>(shared_from_this(), recorded);
}

}  // namespace ddpscope::standin
