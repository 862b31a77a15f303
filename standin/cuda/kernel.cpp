// CPU bodies of kernels: found in the program by name, given copies of their arguments, timed by a simple
// model.
#include "standin/cuda/kernel.h"

#include <dlfcn.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "standin/cuda/entry.h"

namespace ddpscope::standin {
namespace {

constexpr std::size_t kArgumentAlignment = 32;  // of the widest CUDA vector type
constexpr int kNamedInWarnings = 16;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kArgumentAlignment - 1) / kArgumentAlignment * kArgumentAlignment;
}

/// A copy of a launch's arguments, laid out as the launch had them: an array of pointers, one an argument.
class CopiedArguments {
 public:
  CopiedArguments(void** args, const std::size_t* sizes) {
    std::size_t total = 0, count = 0;
    for (; sizes[count] != 0; ++count) total += aligned(sizes[count]);
    if (total == 0) return;
    require(args != nullptr, cudaErrorInvalidValue);
    bytes_.reset(static_cast<char*>(std::aligned_alloc(kArgumentAlignment, total)));
    if (!bytes_) throw std::bad_alloc();
    char* next = bytes_.get();
    for (std::size_t i = 0; i < count; next += aligned(sizes[i++])) {
      pointers_.push_back(std::memcpy(next, args[i], sizes[i]));
    }
  }

  void** pointers() { return pointers_.data(); }

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::unique_ptr<char, Free> bytes_;
  std::vector<void*> pointers_;
};

struct HeldCall {
  explicit HeldCall(const HostCall& made) : call(made) {}

  HostCall call;
  void* pointer = &call;
};

// The value of STANDIN_KERNEL_NS for a kernel: a number for all, or `substring=number,...`, the first match
// counts.
std::chrono::nanoseconds modelled_time(std::string_view kernel) {
  const char* variable = std::getenv("STANDIN_KERNEL_NS");
  std::string_view model = variable ? variable : "";
  while (!model.empty()) {
    const std::size_t comma = std::min(model.find(','), model.size());
    std::string_view rule = model.substr(0, comma);
    model.remove_prefix(std::min(comma + 1, model.size()));
    if (const std::size_t equals = rule.find('='); equals != rule.npos) {
      if (kernel.find(rule.substr(0, equals)) == kernel.npos) continue;
      rule.remove_prefix(equals + 1);
    }
    long long ns = 0;
    const auto [end, error] = std::from_chars(rule.begin(), rule.end(), ns);
    if (error == std::errc() && end == rule.end()) return std::chrono::nanoseconds(ns);
    std::fprintf(stderr, "standin libcudart: STANDIN_KERNEL_NS has \"%.*s\" where a number of ns belongs\n",
                 static_cast<int>(rule.size()), rule.data());
  }
  return std::chrono::nanoseconds(0);
}

std::atomic<bool> bodies_required{false};

// Of a kernel that an operator launches. STANDIN_TORCH=off: the program is to run without values.
bool lies_in_pytorch(const void* function) {
  const char* variant = std::getenv("STANDIN_TORCH");
  if (variant && std::string_view(variant) == "off") return false;
  Dl_info found;
  return dladdr(function, &found) && found.dli_fname && std::strstr(found.dli_fname, "/libtorch_cuda");
}

}  // namespace

void require_bodies() { bodies_required = true; }

void Kernel::say_no_body() const {
  static std::atomic<int> said{0};
  const int number = said.fetch_add(1);
  if (number < kNamedInWarnings) {
    std::fprintf(stderr, "standin libcudart: kernel %s has no CPU body and %s\n", name_.c_str(),
                 bodies_required ? "cannot run without a GPU"
                 : of_pytorch_
                     ? "fails: PyTorch's operators are not replaced in this process. Python reads no "
                       "PYTHONPATH with -I, -E or -S; an embedded one and a C++ program may read none"
                     : "does nothing: values are not real");
  } else if (number == kNamedInWarnings) {
    std::fprintf(stderr, "standin libcudart: further kernels without a CPU body are not named\n");
  }
}

void Kernel::look_up() {
  at_least_ = modelled_time(name_);
  if (runs_host_calls_) return;
  const std::string symbol = "standin_cpu_" + name_;
  body_ = reinterpret_cast<Body>(dlsym(RTLD_DEFAULT, symbol.c_str()));
  sizes_ = static_cast<const std::size_t*>(dlsym(RTLD_DEFAULT, (symbol + "_sizes").c_str()));
  if (body_ && !sizes_) {
    std::fprintf(stderr, "standin libcudart: %s comes without %s_sizes and is not called\n", symbol.c_str(),
                 symbol.c_str());
  }
  if (!sizes_) body_ = nullptr;
  if (body_) return;
  of_pytorch_ = lies_in_pytorch(host_function_);
  say_no_body();
}

Arguments Kernel::copy_arguments(void** args) {
  std::call_once(looked_up_, &Kernel::look_up, this);
  if (runs_host_calls_) {
    require(args != nullptr, cudaErrorInvalidValue);
    const auto held = std::make_shared<HeldCall>(*static_cast<const HostCall*>(args[0]));
    return {held, &held->pointer};
  }
  if (!body_) return nullptr;
  const auto copied = std::make_shared<CopiedArguments>(args, sizes_);
  return {copied, copied->pointers()};
}

Work Kernel::body_call(Arguments arguments, dim3 grid, dim3 block) const {
  if (runs_host_calls_) return [held = std::move(arguments)] { static_cast<const HostCall*>(*held)->run(); };
  if (!body_) {
    require(!bodies_required && !of_pytorch_, cudaErrorNoKernelImageForDevice);
    return {};
  }
  return [body = body_, copied = std::move(arguments), grid, block] {
    const unsigned blocks[3] = {grid.x, grid.y, grid.z};
    const unsigned threads[3] = {block.x, block.y, block.z};
    body(copied.get(), blocks, threads);
  };
}

Work Kernel::prepare(Arguments arguments, dim3 grid, dim3 block) {
  std::call_once(looked_up_, &Kernel::look_up, this);
  Work call = body_call(std::move(arguments), grid, block);
  if (at_least_.count() <= 0) return call;
  return [call = std::move(call), at_least = at_least_] {
    const auto end = std::chrono::steady_clock::now() + at_least;
    if (call) call();
    std::this_thread::sleep_until(end);
  };
}

}  // namespace ddpscope::standin
