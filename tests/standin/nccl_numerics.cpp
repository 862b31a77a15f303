// Every function, type and reduction against the same sums done here in double.
#include <cmath>
#include <cstring>
#include <type_traits>

#include "nccl_rank.h"

namespace {

constexpr std::size_t kCounts[] = {1, 3, 1000, 40'000, 300'007};  // through the hub, and beyond it

template <typename T>
struct TypeOf;
template <>
struct TypeOf<std::int8_t> {
  static constexpr auto id = ncclInt8;
};
template <>
struct TypeOf<std::uint8_t> {
  static constexpr auto id = ncclUint8;
};
template <>
struct TypeOf<std::int32_t> {
  static constexpr auto id = ncclInt32;
};
template <>
struct TypeOf<std::uint32_t> {
  static constexpr auto id = ncclUint32;
};
template <>
struct TypeOf<std::int64_t> {
  static constexpr auto id = ncclInt64;
};
template <>
struct TypeOf<std::uint64_t> {
  static constexpr auto id = ncclUint64;
};
template <>
struct TypeOf<__half> {
  static constexpr auto id = ncclFloat16;
};
template <>
struct TypeOf<float> {
  static constexpr auto id = ncclFloat32;
};
template <>
struct TypeOf<double> {
  static constexpr auto id = ncclFloat64;
};
template <>
struct TypeOf<__nv_bfloat16> {
  static constexpr auto id = ncclBfloat16;
};
template <>
struct TypeOf<__nv_fp8_e4m3> {
  static constexpr auto id = ncclFloat8e4m3;
};
template <>
struct TypeOf<__nv_fp8_e5m2> {
  static constexpr auto id = ncclFloat8e5m2;
};

template <typename T>
double number(T value) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(value);
  else
    return static_cast<float>(value);
}

template <typename T>
T typed(double value) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<T>(value);
  else
    return T(static_cast<float>(value));
}

/// Half a unit in the last place, for the one operation that rounds: the average.
template <typename T>
double relative_error() {
  if constexpr (std::is_integral_v<T>)
    return 0;
  else
    return std::is_same_v<T, double> ? 1e-14 : std::is_same_v<T, float> ? 1e-6 : sizeof(T) == 2 ? 0.02 : 0.3;
}

/// Small whole numbers, exact in every type, whose sums and products are exact too.
double input(ncclRedOp_t op, int rank, std::size_t i) {
  const auto mix = (i * 7 + static_cast<std::size_t>(rank) * 3) % 5;
  if (op == ncclProd) return rank < 3 ? 1 + static_cast<double>(mix % 2) : 1;
  return static_cast<double>(mix % 2);
}

double expected(ncclRedOp_t op, std::size_t i, bool whole) {
  double result = input(op, 0, i);
  for (int rank = 1; rank < job().size; ++rank) {
    const double next = input(op, rank, i);
    switch (op) {
      case ncclProd:
        result *= next;
        break;
      case ncclMax:
        result = std::max(result, next);
        break;
      case ncclMin:
        result = std::min(result, next);
        break;
      default:
        result += next;
    }
  }
  if (op != ncclAvg) return result;
  return whole ? std::trunc(result / job().size) : result / job().size;
}

template <typename T>
class Checks {
 public:
  Checks(ncclComm_t comm, cudaStream_t stream) : comm_(comm), stream_(stream) {}

  void reductions(ncclRedOp_t op, std::size_t count) {
    const auto n = static_cast<std::size_t>(job().size), rank = static_cast<std::size_t>(job().rank);
    const DeviceBuffer<T> in(inputs(op, count * n)), out(count);
    REQUIRE_NCCL(ncclAllReduce(in.get(), out.get(), count, type_, op, comm_, stream_));
    check(op, out, 0, "AllReduce");
    const DeviceBuffer<T> in_place(inputs(op, count));
    REQUIRE_NCCL(ncclAllReduce(in_place.get(), in_place.get(), count, type_, op, comm_, stream_));
    check(op, in_place, 0, "AllReduce in place");
    REQUIRE_NCCL(ncclReduceScatter(in.get(), out.get(), count, type_, op, comm_, stream_));
    check(op, out, rank * count, "ReduceScatter");
    const int root = job().size / 2;
    REQUIRE_NCCL(ncclReduce(in.get(), job().rank == root ? out.get() : nullptr, count, type_, op, root, comm_,
                            stream_));
    if (job().rank == root) check(op, out, 0, "Reduce");
    REQUIRE_CUDA(cudaStreamSynchronize(stream_));
  }

  void pre_multiplied(std::size_t count) {
    T two = typed<T>(2);
    ncclRedOp_t op;
    REQUIRE_NCCL(ncclRedOpCreatePreMulSum(&op, &two, type_, ncclScalarHostImmediate, comm_));
    const DeviceBuffer<T> in(inputs(ncclSum, count)), out(count);
    REQUIRE_NCCL(ncclAllReduce(in.get(), out.get(), count, type_, op, comm_, stream_));
    REQUIRE_NCCL(ncclRedOpDestroy(op, comm_));
    REQUIRE_CUDA(cudaStreamSynchronize(stream_));
    const auto values = out.values();
    for (std::size_t i = 0; i < count; ++i) REQUIRE(number(values[i]) == 2 * expected(ncclSum, i, false));
  }

  void copies(std::size_t count) {
    const int n = job().size, root = n - 1, self = job().rank;
    const DeviceBuffer<T> mine(marked(self, 0, count)), blocks(blocks_for_all(count));
    const DeviceBuffer<T> one(count), all(count * static_cast<std::size_t>(n));

    REQUIRE_NCCL(
        ncclBroadcast(self == root ? mine.get() : nullptr, one.get(), count, type_, root, comm_, stream_));
    check_block(one, 0, marked(root, 0, count), "Broadcast");
    const DeviceBuffer<T> shared(marked(self, 0, count));
    REQUIRE_NCCL(ncclBcast(shared.get(), count, type_, 0, comm_, stream_));
    check_block(shared, 0, marked(0, 0, count), "Bcast");
    REQUIRE_NCCL(ncclAllGather(mine.get(), all.get(), count, type_, comm_, stream_));
    for (int rank = 0; rank < n; ++rank) check_block(all, rank, marked(rank, 0, count), "AllGather");
    REQUIRE_NCCL(ncclAlltoAll(blocks.get(), all.get(), count, type_, comm_, stream_));
    for (int rank = 0; rank < n; ++rank) check_block(all, rank, marked(rank, self, count), "AlltoAll");
    REQUIRE_NCCL(
        ncclGather(blocks.get(), self == root ? all.get() : nullptr, count, type_, root, comm_, stream_));
    for (int rank = 0; self == root && rank < n; ++rank)
      check_block(all, rank, marked(rank, 0, count), "Gather");
    REQUIRE_NCCL(
        ncclScatter(self == root ? blocks.get() : nullptr, one.get(), count, type_, root, comm_, stream_));
    check_block(one, 0, marked(root, self, count), "Scatter");
  }

  /// Sums that depend on their order are folded in rank order: equal to the last bit on all ranks, whatever
  /// function and however many elements they came with.
  void equal_on_all_ranks(std::size_t count) {
    const auto n = static_cast<std::size_t>(job().size);
    std::vector<T> values(count);
    std::srand(static_cast<unsigned>(job().rank + 1));
    for (T& value : values) value = typed<T>(std::rand() / 1e9 - 1);
    const DeviceBuffer<T> in(values), sum(count), of_all(count * n), first(1), at_root(count);
    REQUIRE_NCCL(ncclAllReduce(in.get(), sum.get(), count, type_, ncclSum, comm_, stream_));
    REQUIRE_NCCL(ncclAllGather(sum.get(), of_all.get(), count, type_, comm_, stream_));
    REQUIRE_NCCL(ncclAllReduce(in.get(), first.get(), 1, type_, ncclSum, comm_, stream_));
    REQUIRE_NCCL(ncclReduce(in.get(), at_root.get(), count, type_, ncclSum, job().size - 1, comm_, stream_));
    REQUIRE_CUDA(cudaStreamSynchronize(stream_));
    for (std::size_t rank = 0; rank < n; ++rank) REQUIRE(same_bits(sum, 0, of_all, rank * count, count));
    REQUIRE(same_bits(sum, 0, first, 0, 1));
    if (job().rank == job().size - 1) REQUIRE(same_bits(sum, 0, at_root, 0, count));
  }

 private:
  static bool same_bits(const DeviceBuffer<T>& a, std::size_t at_a, const DeviceBuffer<T>& b,
                        std::size_t at_b, std::size_t count) {
    return std::memcmp(a.values().data() + at_a, b.values().data() + at_b, count * sizeof(T)) == 0;
  }

  std::vector<T> inputs(ncclRedOp_t op, std::size_t count) const {
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = typed<T>(input(op, job().rank, i));
    return values;
  }

  /// What `from` sends to `to`: different for each pair.
  static std::vector<T> marked(int from, int to, std::size_t count) {
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; ++i)
      values[i] = typed<T>(static_cast<double>((i + static_cast<std::size_t>(from * 3 + to * 5)) % 8));
    return values;
  }

  std::vector<T> blocks_for_all(std::size_t count) const {
    std::vector<T> values;
    for (int to = 0; to < job().size; ++to) {
      const auto block = marked(job().rank, to, count);
      values.insert(values.end(), block.begin(), block.end());
    }
    return values;
  }

  void check(ncclRedOp_t op, const DeviceBuffer<T>& buffer, std::size_t first, const char* function) const {
    REQUIRE_CUDA(cudaStreamSynchronize(stream_));
    const auto values = buffer.values();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double got = number(values[i]), wanted = expected(op, first + i, std::is_integral_v<T>);
      const double tolerance = op == ncclAvg ? relative_error<T>() * std::abs(wanted) : 0;
      if (std::abs(got - wanted) <= tolerance) continue;
      fail(__FILE__, __LINE__,
           std::string(function) + " type " + std::to_string(type_) + " op " + std::to_string(op) +
               " count " + std::to_string(values.size()) + " at " + std::to_string(i) + ": " +
               std::to_string(got) + ", expected " + std::to_string(wanted));
    }
  }

  void check_block(const DeviceBuffer<T>& buffer, int block, const std::vector<T>& wanted,
                   const char* function) const {
    REQUIRE_CUDA(cudaStreamSynchronize(stream_));
    const auto values = buffer.values();
    const std::size_t bytes = wanted.size() * sizeof(T);
    if (std::memcmp(values.data() + static_cast<std::size_t>(block) * wanted.size(), wanted.data(), bytes) ==
        0)
      return;
    fail(__FILE__, __LINE__,
         std::string(function) + " type " + std::to_string(type_) + " block " + std::to_string(block));
  }

  static constexpr ncclDataType_t type_ = TypeOf<T>::id;
  ncclComm_t comm_;
  cudaStream_t stream_;
};

template <typename T>
void check_type(ncclComm_t comm, cudaStream_t stream) {
  Checks<T> checks(comm, stream);
  constexpr bool main_type = std::is_same_v<T, float> || std::is_same_v<T, __half> ||
                             std::is_same_v<T, __nv_bfloat16> || std::is_same_v<T, std::int64_t>;
  for (const std::size_t count : kCounts) {
    if (!main_type && count > 1000) continue;  // the paths are those of the main types
    for (const ncclRedOp_t op : {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg}) {
      if (count > 40'000 && op != ncclSum && op != ncclAvg) continue;
      checks.reductions(op, count);
    }
    checks.copies(count);
  }
  checks.pre_multiplied(100);
  if constexpr (!std::is_integral_v<T>) {
    checks.equal_on_all_ranks(100);
    checks.equal_on_all_ranks(100'003);
  }
}

}  // namespace

int main() {
  const ncclComm_t comm = make_communicator();
  cudaStream_t stream;
  REQUIRE_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  check_type<std::int8_t>(comm, stream);
  check_type<std::uint8_t>(comm, stream);
  check_type<std::int32_t>(comm, stream);
  check_type<std::uint32_t>(comm, stream);
  check_type<std::int64_t>(comm, stream);
  check_type<std::uint64_t>(comm, stream);
  check_type<__half>(comm, stream);
  check_type<float>(comm, stream);
  check_type<double>(comm, stream);
  check_type<__nv_bfloat16>(comm, stream);
  check_type<__nv_fp8_e4m3>(comm, stream);
  check_type<__nv_fp8_e5m2>(comm, stream);
  REQUIRE_NCCL(ncclCommDestroy(comm));
  return 0;
}
