// Meets the hooks on PyTorch's functions in one way each: torch_guest STORY [ARGUMENT].
#include <dlfcn.h>
#include <setjmp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "torch_stub.h"

namespace {

c10d::Store store;

c10d::ProcessGroupGloo* make_group(int rank = 0, int size = 1) {
  return new c10d::ProcessGroupGloo(&store, rank, size, nullptr);
}

void reduce(c10d::ProcessGroupGloo& group, int offset, std::vector<std::int64_t> sizes) {
  StubTensor tensor(offset, std::move(sizes));
  std::vector<at::Tensor> tensors{{tensor.bytes}};
  c10d::AllreduceOptions options;
  group.allreduce(tensors, options).object->wait(std::chrono::milliseconds(0));
}

// Sizes at an offset: the hooks have to find it out.
int layout(int offset) {
  auto* group = make_group();
  for (int i = 0; i < 6; ++i) reduce(*group, offset, {2, 3 + i});
  reduce(*group, offset, {7, 1, 1});
  return 0;
}

int throws() {
  auto* group = make_group();
  for (int i = 0; i < 3; ++i) {
    try {
      std::vector<at::Tensor> none;
      group->allreduce(none, c10d::AllreduceOptions{});
    } catch (const std::invalid_argument& error) {
      std::printf("caught %s\n", error.what());
    }
    group->work.throws = true;
    try {
      reduce(*group, 64, {2, 2});
    } catch (const std::runtime_error& error) {
      std::printf("caught %s\n", error.what());
    }
    group->work.throws = false;
  }
  reduce(*group, 64, {2, 2});
  return 0;
}

jmp_buf outside;

// A call that is left is over; those behind it are no part of it.
int leaves() {
  auto* group = make_group();
  group->inside = [] { longjmp(outside, 1); };
  static int made = 0;
  setjmp(outside);
  if (++made <= 3) group->barrier(c10d::BarrierOptions{});
  reduce(*group, 64, {2, 2});
  return 0;
}

// Two libraries that define the same names, loaded as Python loads extensions: each calls its own.
int two(const char* first, const char* second) {
  for (const char* path : {first, second}) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return std::printf("%s\n", dlerror()), 1;
    auto number = reinterpret_cast<int (*)()>(dlsym(library, "stub_number"));
    auto waits = reinterpret_cast<int (*)()>(dlsym(library, "stub_wait_of_this_library"));
    std::printf("library %d: %d\n", number(), waits());
  }
  return 0;
}

// By name the program finds the library's functions, or none.
int finds() {
  for (const char* symbol : {"_ZN4c10d16ProcessGroupGloo7barrierERKNS_14BarrierOptionsE",
                             "_ZN4c10d16ProcessGroupGloo4sendERSt6vectorIN2at6TensorESaIS3_EEii"})
    for (void* library : {static_cast<void*>(RTLD_DEFAULT), dlopen(nullptr, RTLD_NOW)}) {
      void* function = dlsym(library, symbol);
      Dl_info found{};
      if (function) dladdr(function, &found);
      std::printf("%s %s\n", symbol,
                  function ? std::filesystem::path(found.dli_fname).filename().c_str() : "nowhere");
    }
  return 0;
}

// Nanoseconds of a recorded call and its wait, in the median.
int cost() {
  auto* group = make_group();
  StubTensor tensor(64, {1000, 10});
  std::vector<at::Tensor> tensors{{tensor.bytes}};
  c10d::AllreduceOptions options;
  std::vector<double> nanoseconds;
  for (int round = 0; round < 200; ++round) {
    constexpr int kCalls = 1000;
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i)
      group->allreduce(tensors, options).object->wait(std::chrono::milliseconds(0));
    std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    nanoseconds.push_back(took.count() / kCalls);
  }
  std::nth_element(nanoseconds.begin(), nanoseconds.begin() + 100, nanoseconds.end());
  std::printf("%.1f\n", nanoseconds[100]);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  std::string story = count > 1 ? words[1] : "";
  if (story == "layout" && count > 2) return layout(std::atoi(words[2]));
  if (story == "throws") return throws();
  if (story == "leaves") return leaves();
  if (story == "two" && count > 3) return two(words[2], words[3]);
  if (story == "finds") return finds();
  if (story == "cost") return cost();
  return 2;
}
