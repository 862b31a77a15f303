// Arrays that are as long as a trace. Most of what reading one costs is pages that the system hands out:
// large ones are asked for where it has them.
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

namespace ddpscope::trace {

template <class T>
struct LargePages {
  using value_type = T;

  LargePages() = default;
  template <class Other>
  LargePages(const LargePages<Other>&) {}

  T* allocate(std::size_t count) {
    if (count > static_cast<std::size_t>(-1) / 2 / sizeof(T)) throw std::bad_array_new_length();
    std::size_t bytes = count * sizeof(T);
    if (!is_large(bytes)) return static_cast<T*>(::operator new(bytes));
    bytes = (bytes + kPage - 1) / kPage * kPage;
    void* memory = std::aligned_alloc(kPage, bytes);
    if (!memory) throw std::bad_alloc();
    ::madvise(memory, bytes, MADV_HUGEPAGE);  // without them it is slower, no more
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
    if (is_large(count * sizeof(T)))
      std::free(memory);
    else
      ::operator delete(memory);
  }
  bool operator==(const LargePages&) const { return true; }

 private:
  static constexpr std::size_t kPage = 2 << 20;
  static constexpr bool is_large(std::size_t bytes) { return bytes >= 2 * kPage; }
};

template <class T>
using Table = std::vector<T, LargePages<T>>;

}  // namespace ddpscope::trace
