// What PyTorch's process groups look like from outside: the names, argument passing and virtual functions
// that the hooks meet, and tensors whose sizes lie where the guest says.
#pragma once
#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

namespace at {
struct Tensor {
  char* impl;
  ~Tensor() {}
};
}  // namespace at

namespace c10 {
namespace detail {
template <class T>
struct intrusive_target_default_null_type {};
}  // namespace detail
// Has a destructor: it is passed and returned by address, as the real one.
template <class T, class Null = detail::intrusive_target_default_null_type<T>>
struct intrusive_ptr {
  T* object = nullptr;
  intrusive_ptr(T* o) : object(o) {}
  intrusive_ptr(const intrusive_ptr& other) : object(other.object) {}
  ~intrusive_ptr() {}
};
}  // namespace c10

namespace c10d {
struct Store {
  virtual ~Store() {}
};

struct Work {
  bool throws = false;
  virtual ~Work() {}
  virtual bool wait(std::chrono::milliseconds timeout);
};

struct AllreduceOptions {
  char bytes[64] = {};
};
struct BarrierOptions {
  char bytes[64] = {};
};

struct ProcessGroupGloo {
  struct Options {};
  ProcessGroupGloo(const c10::intrusive_ptr<Store>& store, int rank, int size,
                   c10::intrusive_ptr<Options> options);
  virtual ~ProcessGroupGloo();
  virtual c10::intrusive_ptr<Work> allreduce(std::vector<at::Tensor>& tensors,
                                             const AllreduceOptions& options);
  virtual c10::intrusive_ptr<Work> barrier(const BarrierOptions& options);
  void (*inside)() = nullptr;  // called by barrier()
  Work work;
};
}  // namespace c10d

// A tensor of these sizes, with sizes_and_strides_ at this offset of its TensorImpl. 1 float:
// c10::ScalarType 6.
struct StubTensor {
  alignas(16) char bytes[256] = {};
  StubTensor(int offset, std::vector<std::int64_t> sizes) {
    std::int64_t count = 1, dimensions = static_cast<std::int64_t>(sizes.size());
    for (std::int64_t size : sizes) count *= size;
    std::uint16_t type = 6;
    // One holder, as counts of 8 bytes up to PyTorch 2.1, of 4 since.
    if (offset == 72)
      bytes[8] = bytes[16] = 1;
    else
      bytes[8] = bytes[12] = 1;
    std::memcpy(bytes + offset, &dimensions, 8);
    std::memcpy(bytes + offset + 8, sizes.data(), sizes.size() * 8);
    std::memcpy(bytes + offset + 96, &count, 8);
    std::memcpy(bytes + offset + 104, &type, 2);
  }
};

extern "C" int stub_number();  // which library this is
