// Mappings are listed where the signal handler finds them.
#include "trace/read/mapped_file.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

namespace ddpscope::trace {
namespace {

struct Slot {
  std::atomic<bool> taken{false};
  std::atomic<std::uintptr_t> begin{0};  // 0: no mapping yet
  std::atomic<std::size_t> bytes{0};
  std::atomic<bool> lost{false};
};

// More files than this are copied.
constexpr int kMost = 4096;
std::array<Slot, kMost> g_slots;
struct sigaction g_before;
std::uintptr_t g_page;

Slot* find(std::uintptr_t address) {
  for (Slot& slot : g_slots) {
    std::uintptr_t begin = slot.begin.load(std::memory_order_acquire);
    if (begin && address - begin < slot.bytes.load(std::memory_order_relaxed)) return &slot;
  }
  return nullptr;
}

// The page that cannot be read becomes one of zeros, and the reading goes on. mmap is a bare system call.
void replace_page(int, siginfo_t* info, void*) {
  auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  Slot* slot = info->si_code > 0 ? find(address) : nullptr;  // else somebody sent it
  void* page = reinterpret_cast<void*>(address & ~(g_page - 1));
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  if (slot && ::mmap(page, g_page, PROT_READ, kFlags, -1, 0) != MAP_FAILED) {
    slot->lost.store(true, std::memory_order_relaxed);
    return;
  }
  ::sigaction(SIGBUS, &g_before, nullptr);  // comes again, and goes there
}

void handle_lost_pages() {
  static std::once_flag once;
  std::call_once(once, [] {
    g_page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    struct sigaction action {};
    action.sa_sigaction = &replace_page;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, &g_before);
  });
}

int take_slot() {
  for (int i = 0; i < kMost; ++i)
    if (!g_slots[static_cast<std::size_t>(i)].taken.exchange(true)) return i;
  return -1;
}

Slot& slot_at(int number) { return g_slots[static_cast<std::size_t>(number)]; }

}  // namespace

MappedFile MappedFile::of(int fd, std::size_t bytes) {
  int number = bytes ? take_slot() : -1;
  if (number < 0) return {};
  handle_lost_pages();
  Slot& slot = slot_at(number);
  void* begin = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  if (begin == MAP_FAILED) {
    slot.taken.store(false);
    return {};
  }
  slot.lost.store(false);
  slot.bytes.store(bytes);
  slot.begin.store(reinterpret_cast<std::uintptr_t>(begin), std::memory_order_release);
  return MappedFile(number);
}

MappedFile::~MappedFile() {
  if (slot_ < 0) return;
  Slot& slot = slot_at(slot_);
  auto* begin = reinterpret_cast<void*>(slot.begin.exchange(0));
  ::munmap(begin, slot.bytes.load());
  slot.taken.store(false);
}

std::span<const unsigned char> MappedFile::bytes() const {
  if (slot_ < 0) return {};
  const Slot& slot = slot_at(slot_);
  return {reinterpret_cast<const unsigned char*>(slot.begin.load()), slot.bytes.load()};
}

bool MappedFile::lost() const { return slot_ >= 0 && slot_at(slot_).lost.load(std::memory_order_relaxed); }

}  // namespace ddpscope::trace
