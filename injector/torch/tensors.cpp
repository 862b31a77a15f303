// Decides for one of the layouts of PyTorch 1.13 to 2.15 as tensors come by; afterwards three loads a tensor.
#include "injector/torch/tensors.h"

#include <string.h>

#include "injector/core/safe_read.h"

namespace ddpscope::injector::torch {
namespace {

// 2.15; 2.5.1 and 2.9.0; 1.13 and 2.1.2.
constexpr Layout kLayouts[] = {{56, 16}, {64, 16}, {72, 24}};
constexpr int kLayoutCount = 3;
constexpr int kUndecided = -1, kRefused = -2;
constexpr int kVotesNeeded = 3;

int decided = kUndecided;  // __atomic
int votes[kLayoutCount];   // __atomic
constexpr int kDisagree = -1;
int header_seen;  // __atomic; 0: no tensor was read

// From the offset of the sizes on (c10::impl::SizesAndStrides, then TensorImpl's storage_offset_, numel_,
// data_type_).
constexpr std::size_t kNumel = 96, kType = 104, kBytes = 106;
constexpr std::uint64_t kMostDimensions = 64;
constexpr std::uint64_t kInline = 5;  // sizes; more lie behind a pointer
constexpr std::uint16_t kTypes = 60;

struct Tensor {
  std::uint64_t dimensions, count;
  std::uint16_t type;
};

// The bytes of a tensor from its sizes on. `look` copies memory: plainly, or where it may not be there.
template <class Look>
bool parse(std::uintptr_t tensor, std::size_t sizes, Look look, Tensor* out) {
  unsigned char bytes[kBytes];
  if (!look(tensor + sizes, bytes, sizeof(bytes))) return false;
  std::int64_t lengths[kMostDimensions];
  memcpy(&out->dimensions, bytes, 8);
  memcpy(&out->count, bytes + kNumel, 8);
  memcpy(&out->type, bytes + kType, 2);
  if (out->dimensions > kMostDimensions || out->type >= kTypes) return false;
  if (out->dimensions <= kInline) {
    memcpy(lengths, bytes + 8, out->dimensions * 8);
  } else {
    std::uintptr_t elsewhere;
    memcpy(&elsewhere, bytes + 8, sizeof(elsewhere));
    if (!look(elsewhere, lengths, out->dimensions * 8)) return false;
  }
  std::uint64_t product = 1;
  for (std::uint64_t i = 0; i < out->dimensions; ++i) {
    if (lengths[i] < 0) return false;
    product *= static_cast<std::uint64_t>(lengths[i]);
  }
  return product == out->count;
}

// A reference-counted object begins with its table of functions and two counts, of 8 bytes each or of 4:
// whoever hands a tensor over holds it, and a strong count holds the weak one. Of the weak one of 4 bytes the
// highest bit says, in 2.15, that Python has an object for it.
bool counts_fit(std::uintptr_t tensor, std::uint8_t header) {
  constexpr std::uint64_t kMostHolders = 1u << 31;
  std::uint64_t words[2];
  if (!read_safely(tensor + 8, words, sizeof(words))) return false;
  std::uint64_t strong = words[0], weak = words[1];
  if (header == 16) strong = words[0] & 0xFFFF'FFFF, weak = words[0] >> 32 & 0x7FFF'FFFF;
  return strong > 0 && strong < kMostHolders && weak > 0 && weak < kMostHolders;
}

void note_header(std::uint8_t header) {
  int seen = __atomic_load_n(&header_seen, __ATOMIC_RELAXED);
  if (seen != header) __atomic_store_n(&header_seen, seen ? kDisagree : header, __ATOMIC_RELAXED);
}

// Memory full of zeros fits as a tensor without elements anywhere: it says nothing.
bool is_empty(const Tensor& tensor) { return tensor.count == 0; }

// A scalar fits where there are a 0 and a 1: it may be read, but decides nothing.
bool speaks(const Tensor& tensor) { return tensor.dimensions >= 1; }

// The only layout for which tensors spoke; -1: there is none yet, or several.
int voted_layout() {
  int voted = -1;
  for (int i = 0; i < kLayoutCount; ++i) {
    if (!__atomic_load_n(&votes[i], __ATOMIC_RELAXED)) continue;
    if (voted >= 0) return -1;
    voted = i;
  }
  return voted;
}

// What only one layout fits; without elements, what the one fits that others spoke for.
bool read_undecided(std::uintptr_t tensor, Tensor* out) {
  int fitting = -1;
  const int voted = voted_layout();
  for (int i = 0; i < kLayoutCount; ++i) {
    Tensor read{};
    if (!counts_fit(tensor, kLayouts[i].header) || !parse(tensor, kLayouts[i].sizes, read_safely, &read))
      continue;
    if (is_empty(read)) {
      if (i != voted) continue;
      *out = read;
      return true;
    }
    if (fitting >= 0) return false;
    fitting = i;
    *out = read;
  }
  if (fitting < 0) return false;
  note_header(kLayouts[fitting].header);
  if (speaks(*out) && __atomic_add_fetch(&votes[fitting], 1, __ATOMIC_RELAXED) >= kVotesNeeded) {
    int expected = kUndecided;
    __atomic_compare_exchange_n(&decided, &expected, fitting, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  }
  return true;
}

bool read_tensor(std::uintptr_t tensor, Tensor* out) {
  int known = __atomic_load_n(&decided, __ATOMIC_RELAXED);
  if (!tensor || known == kRefused) return false;
  if (known == kUndecided) return read_undecided(tensor, out);
  return parse(tensor, kLayouts[known].sizes, read_plainly, out);
}

// c10::ScalarType, whose numbers are those of TensorImpl's data_type_.
std::uint8_t datatype_of(std::uint16_t type) {
  constexpr std::uint8_t kOwn = 128;
  switch (type) {
    case 0:
      return 1;  // Byte
    case 1:
      return 0;  // Char
    case 3:
      return 2;  // Int
    case 4:
      return 4;  // Long
    case 5:
      return 6;  // Half
    case 6:
      return 7;  // Float
    case 7:
      return 8;  // Double
    case 15:
      return 9;  // BFloat16
    case 23:
      return 11;  // Float8_e5m2
    case 24:
      return 10;  // Float8_e4m3fn
    case 28:
      return 3;  // UInt32
    case 29:
      return 5;  // UInt64
    default:
      return static_cast<std::uint8_t>(kOwn + type);
  }
}

struct Range {
  const std::uintptr_t* begin;
  const std::uintptr_t* end;
};

// at::Tensor is a pointer to its TensorImpl; std::vector is {begin, end, end of room}.
Range tensors_of(const HookedCall& call, Counted counted) {
  bool first = counted == Counted::kFirstVector || counted == Counted::kFirstTensor;
  const auto* tensors = call.pointer<const std::uintptr_t*>(first ? Argument::kFirst : Argument::kSecond);
  if (counted == Counted::kFirstTensor || counted == Counted::kSecondTensor) return {tensors, tensors + 1};
  return {reinterpret_cast<const std::uintptr_t*>(tensors[0]),
          reinterpret_cast<const std::uintptr_t*>(tensors[1])};
}

}  // namespace

Elements count_elements(const HookedCall& call, Counted counted) {
  Elements elements;
  if (counted == Counted::kNothing) {
    elements.read = true;
    return elements;
  }
  auto [at, end] = tensors_of(call, counted);
  for (; at < end; ++at) {
    Tensor tensor{};
    if (!read_tensor(*at, &tensor)) return {};
    if (!elements.read) elements.datatype = datatype_of(tensor.type);
    elements.read = true;
    elements.count += tensor.count;
  }
  return elements;
}

bool is_tensor(std::uintptr_t address) {
  const Layout* known = layout();
  Tensor read{};
  return known && address && counts_fit(address, known->header) &&
         parse(address, known->sizes, read_safely, &read) && !is_empty(read);
}

const Layout* layout() {
  int known = __atomic_load_n(&decided, __ATOMIC_RELAXED);
  if (known >= 0) return &kLayouts[known];
  const int voted = known == kUndecided ? voted_layout() : -1;
  return voted >= 0 ? &kLayouts[voted] : nullptr;
}

int header_bytes() {
  int known = __atomic_load_n(&decided, __ATOMIC_RELAXED);
  if (known >= 0) return kLayouts[known].header;
  int seen = known == kUndecided ? __atomic_load_n(&header_seen, __ATOMIC_RELAXED) : 0;
  return seen > 0 ? seen : 0;
}

void refuse_layout() { __atomic_store_n(&decided, kRefused, __ATOMIC_RELAXED); }

}  // namespace ddpscope::injector::torch
