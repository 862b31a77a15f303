// The parameters that a reducer holds, and their elements, read where PyTorch has them.
#include "injector/torch/parameter_samples.h"

#include <bit>

#include "injector/core/safe_read.h"
#include "injector/torch/tensors.h"

namespace ddpscope::injector::torch {
namespace {

// c10d::Reducer begins with a std::mutex; behind it, from 1.13 to 2.15, a std::vector of the parameters.
constexpr std::size_t kParameters = 40;
constexpr std::uint64_t kMostParameters = 1u << 20;

// Enough for any two copies that were updated differently, and little beside a step.
constexpr std::uint32_t kMostTensors = 32, kPlaces = 4;

// A reducer's memory is read with care until that has gone well so often; then it holds its parameters, and
// they hold their memory. On a device there is nothing to read.
constexpr std::uint32_t kProofs = 3, kTries = 8;
constexpr std::uint32_t kRefused = ~0u;
std::uint32_t proofs, tries;  // __atomic

// c10::ScalarType of what is trained.
enum : std::uint16_t { kHalf = 5, kFloat = 6, kDouble = 7, kBFloat16 = 15 };

std::size_t bytes_of(std::uint16_t type) {
  return type == kDouble ? 8 : type == kFloat ? 4 : type == kHalf || type == kBFloat16 ? 2 : 0;
}

// False: not finite. Asked of the bits, as programs may have arithmetic trap.
bool is_finite(std::uint64_t bits, std::uint16_t type) {
  const std::uint64_t exponent = type == kDouble     ? 0x7FF0'0000'0000'0000
                                 : type == kFloat    ? 0x7F80'0000
                                 : type == kBFloat16 ? 0x7F80
                                                     : 0x7C00;
  return (bits & exponent) != exponent;
}

double from_half(std::uint64_t bits) {
  std::uint64_t exponent = bits >> 10 & 0x1F, fraction = bits & 0x3FF;
  double size = exponent ? std::bit_cast<double>((exponent + 1008) << 52 | fraction << 42)
                         : static_cast<double>(fraction) * 0x1p-24;
  return bits & 0x8000 ? -size : size;
}

double number_of(std::uint64_t bits, std::uint16_t type) {
  auto single = [](std::uint64_t of) {
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(of)));
  };
  return type == kDouble     ? std::bit_cast<double>(bits)
         : type == kFloat    ? single(bits)
         : type == kBFloat16 ? single(bits << 16)
                             : from_half(bits);
}

// The elements of a tensor, as they lie in memory.
struct Values {
  std::uintptr_t data;
  std::uint64_t count;
  std::uint16_t type;
};

// False: this is no tensor. Of one that is not on the host, or not of floating-point numbers, no elements.
template <class Look>
bool find_values(std::uintptr_t tensor, const Layout& layout, Look look, Values* out) {
  // c10::TensorImpl: storage_ behind its header; behind the sizes storage_offset_, numel_, data_type_.
  struct {
    std::int64_t offset, count;
    std::uint16_t type;
  } shape;
  // c10::StorageImpl: a pointer to the data, to its context and to how that is freed, a device, bytes.
  struct {
    std::uintptr_t data, context, free;
    std::int8_t device;
    std::int64_t bytes;
  } storage;
  constexpr std::size_t kShape = 88, kShapeBytes = 18;
  std::uintptr_t held = 0;
  *out = {};
  if (!look(tensor + layout.header, &held, sizeof(held)) ||
      !look(tensor + layout.sizes + kShape, &shape, kShapeBytes))
    return false;
  if (!held || !bytes_of(shape.type)) return true;
  if (!look(held + layout.header, &storage, sizeof(storage))) return false;
  constexpr std::int8_t kHost = 0;
  if (storage.device != kHost || !storage.data) return true;
  auto width = static_cast<std::int64_t>(bytes_of(shape.type));
  bool inside = shape.offset >= 0 && shape.count > 0 && storage.bytes > 0 &&
                shape.offset <= storage.bytes / width && shape.count <= storage.bytes / width - shape.offset;
  if (!inside) return true;  // of one that FSDP has let go, or that repeats its elements
  out->data = storage.data + static_cast<std::uintptr_t>(shape.offset * width);
  out->count = static_cast<std::uint64_t>(shape.count);
  out->type = shape.type;
  return true;
}

// So that elements which change places, or grow as others shrink, change the sum.
double weight_of(std::uint64_t place) {
  std::uint64_t hash = (place + 1) * 0x9E3779B97F4A7C15u;
  double size = 0.5 + static_cast<double>(hash >> 40 & 0xFFFF) / 65536;
  return hash >> 63 ? -size : size;
}

struct Sample {
  std::uint32_t parameters = 0, elements = 0;
  double sum = 0, size = 0;  // of the finite ones
  bool finite = true;        // all of them
};

template <class Look>
bool add(const Values& values, std::uint64_t first_place, Look look, Sample* sample) {
  std::uint64_t places = values.count < kPlaces ? values.count : kPlaces;
  for (std::uint64_t i = 0; i < places; ++i) {
    std::uint64_t bits = 0;
    std::size_t width = bytes_of(values.type);
    if (!look(values.data + values.count / places * i * width, &bits, width)) return false;
    ++sample->elements;
    if (!is_finite(bits, values.type)) {
      sample->finite = false;
      continue;
    }
    double number = weight_of(first_place + i) * number_of(bits, values.type);
    sample->sum += number;
    sample->size += number < 0 ? -number : number;
  }
  return true;
}

template <class Look>
bool take_sample(std::uint64_t reducer, const Layout& layout, Look look, Sample* out) {
  std::uintptr_t vector[2];
  *out = {};
  if (!look(reducer + kParameters, vector, sizeof(vector))) return false;
  std::uint64_t count = (vector[1] - vector[0]) / sizeof(std::uintptr_t);
  if (vector[0] % alignof(std::uintptr_t) || vector[1] <= vector[0] || count > kMostParameters) return false;
  out->parameters = static_cast<std::uint32_t>(count);
  std::uint64_t tensors = count < kMostTensors ? count : kMostTensors;
  for (std::uint64_t i = 0; i < tensors; ++i) {
    std::uintptr_t tensor = 0;
    Values values{};
    if (!look(vector[0] + 8 * (i * count / tensors), &tensor, sizeof(tensor)) || !tensor ||
        !find_values(tensor, layout, look, &values) || !add(values, i * kPlaces, look, out))
      return false;
  }
  return true;
}

// As sample, but for what may be no reducer: with all its tensors asked whether they are any.
bool are_tensors(std::uint64_t reducer) {
  std::uintptr_t vector[2], tensor = 0;
  if (!read_safely(reducer + kParameters, vector, sizeof(vector)) || vector[1] <= vector[0]) return false;
  constexpr std::uint64_t kAsked = 8;
  for (std::uintptr_t at = vector[0]; at < vector[1] && at < vector[0] + 8 * kAsked; at += 8)
    if (!read_safely(at, &tensor, sizeof(tensor)) || !is_tensor(tensor)) return false;
  return true;
}

bool take_proving(std::uint64_t reducer, const Layout& layout, Sample* out) {
  bool readable = are_tensors(reducer) && take_sample(reducer, layout, read_safely, out);
  if (readable && out->elements)
    __atomic_fetch_add(&proofs, 1, __ATOMIC_RELAXED);
  else if (!readable || __atomic_add_fetch(&tries, 1, __ATOMIC_RELAXED) >= kTries)
    __atomic_store_n(&proofs, kRefused, __ATOMIC_RELAXED);
  return readable;
}

}  // namespace

void record_parameter_sample(trace::FileWriter& file, std::uint64_t reducer, std::uint32_t stack) {
  std::uint32_t proved = __atomic_load_n(&proofs, __ATOMIC_RELAXED);
  const Layout* known = layout();
  Sample sample{};
  if (proved == kRefused || !known) return;
  bool read = proved < kProofs ? take_proving(reducer, *known, &sample)
                               : take_sample(reducer, *known, read_plainly, &sample);
  if (!read || !sample.elements) return;
  constexpr std::uint64_t kNoNumber = 0x7FF8'0000'0000'0000;
  std::uint64_t sum = sample.finite ? std::bit_cast<std::uint64_t>(sample.sum) : kNoNumber;
  record_moment<Call::parameters_sampled>(
      file, {reducer, sum, std::bit_cast<std::uint64_t>(sample.size), sample.parameters, sample.elements},
      stack);
}

}  // namespace ddpscope::injector::torch
