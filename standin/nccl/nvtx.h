// The NVTX ranges that NCCL 2.28 puts around its calls: domain "NCCL", the function's name, a payload with a
// static schema. Nothing without a tool in NVTX_INJECTION64_PATH, nor with NCCL_NVTX_DISABLE=1.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>

namespace ddpscope::standin::nccl::nvtx {

/// What a member of a payload is.
enum class Type { kCommunicator, kInt, kSize, kReduction };

/// A member of a payload: NVTX's type, NCCL's words for it, its place.
struct Member {
  Type type;
  const char* name;
  std::size_t offset;
};

inline constexpr const char* kCommunicatorId = "NCCL communicator ID";
inline constexpr const char* kRanks = "No. of ranks";
inline constexpr const char* kRank = "Rank";
inline constexpr const char* kDevice = "CUDA device";
inline constexpr const char* kBytes = "Message size [bytes]";
inline constexpr const char* kReduction = "Reduction operation";

// The payloads, as NCCL lays them out (src/include/nvtx_payload_schemas.h).
struct Bytes {
  std::uint64_t communicator;
  std::size_t bytes;
  static constexpr Member kMembers[] = {{Type::kCommunicator, kCommunicatorId, 0}, {Type::kSize, kBytes, 8}};
};
struct BytesReduction {
  std::uint64_t communicator;
  std::size_t bytes;
  ncclRedOp_t reduction;
  static constexpr Member kMembers[] = {{Type::kCommunicator, kCommunicatorId, 0},
                                        {Type::kSize, kBytes, 8},
                                        {Type::kReduction, kReduction, 16}};
};
struct BytesRoot {
  std::uint64_t communicator;
  std::size_t bytes;
  int root;
  static constexpr Member kMembers[] = {
      {Type::kCommunicator, kCommunicatorId, 0}, {Type::kSize, kBytes, 8}, {Type::kInt, "Root", 16}};
};
struct BytesRootReduction {
  std::uint64_t communicator;
  std::size_t bytes;
  int root;
  ncclRedOp_t reduction;
  static constexpr Member kMembers[] = {{Type::kCommunicator, kCommunicatorId, 0},
                                        {Type::kSize, kBytes, 8},
                                        {Type::kInt, "Root", 16},
                                        {Type::kReduction, kReduction, 20}};
};
struct BytesPeer {
  std::uint64_t communicator;
  std::size_t bytes;
  int peer;
  static constexpr Member kMembers[] = {
      {Type::kCommunicator, kCommunicatorId, 0}, {Type::kSize, kBytes, 8}, {Type::kInt, "Peer rank", 16}};
};
struct Seat {
  std::uint64_t communicator;
  int ranks;
  int rank;
  int device;
  static constexpr Member kMembers[] = {{Type::kCommunicator, kCommunicatorId, 0},
                                        {Type::kInt, kRanks, 8},
                                        {Type::kInt, kRank, 12},
                                        {Type::kInt, kDevice, 16}};
};
struct Devices {
  std::uint64_t communicator;
  int devices;
  static constexpr Member kMembers[] = {{Type::kCommunicator, kCommunicatorId, 0},
                                        {Type::kInt, "No. of devices", 8}};
};
struct Child {
  std::uint64_t communicator;
  std::uint64_t parent;
  int ranks;
  int rank;
  int device;
  int color;
  int key;
  static constexpr Member kMembers[] = {{Type::kCommunicator, kCommunicatorId, 0},
                                        {Type::kCommunicator, "Parent NCCL communicator ID", 8},
                                        {Type::kInt, kRanks, 16},
                                        {Type::kInt, kRank, 20},
                                        {Type::kInt, kDevice, 24},
                                        {Type::kInt, "Color", 28},
                                        {Type::kInt, "Key", 32}};
};
struct Shrunk {
  std::uint64_t communicator;
  int ranks;
  int rank;
  int device;
  int excluded;
  static constexpr Member kMembers[] = {{Type::kCommunicator, kCommunicatorId, 0},
                                        {Type::kInt, kRanks, 8},
                                        {Type::kInt, kRank, 12},
                                        {Type::kInt, kDevice, 16},
                                        {Type::kInt, "num_exclude", 20}};
};
struct Id {
  std::uint64_t communicator;
  static constexpr Member kMembers[] = {{Type::kCommunicator, kCommunicatorId, 0}};
};
struct Nothing {};

/// A function that has a range: its name, what is told of it, and NCCL's number of the schema.
#define STANDIN_NVTX_FUNCTION(function, payload, number)   \
  struct function {                                        \
    using Payload = payload;                               \
    static constexpr const char* kName = "nccl" #function; \
    static constexpr std::uint64_t kSchema = number;       \
  }
STANDIN_NVTX_FUNCTION(CommInitRank, Seat, 0);
STANDIN_NVTX_FUNCTION(CommInitAll, Devices, 1);
STANDIN_NVTX_FUNCTION(CommDestroy, Seat, 2);
STANDIN_NVTX_FUNCTION(CommAbort, Seat, 3);
STANDIN_NVTX_FUNCTION(AllGather, Bytes, 4);
STANDIN_NVTX_FUNCTION(AllReduce, BytesReduction, 5);
STANDIN_NVTX_FUNCTION(Broadcast, BytesRoot, 6);
STANDIN_NVTX_FUNCTION(ReduceScatter, BytesReduction, 7);
STANDIN_NVTX_FUNCTION(Reduce, BytesRootReduction, 8);
STANDIN_NVTX_FUNCTION(Send, BytesPeer, 9);
STANDIN_NVTX_FUNCTION(Recv, BytesPeer, 10);
STANDIN_NVTX_FUNCTION(CommInitRankConfig, Seat, 11);
STANDIN_NVTX_FUNCTION(CommInitRankScalable, Seat, 12);
STANDIN_NVTX_FUNCTION(CommSplit, Child, 13);
STANDIN_NVTX_FUNCTION(CommFinalize, Id, 14);
STANDIN_NVTX_FUNCTION(CommShrink, Shrunk, 15);
STANDIN_NVTX_FUNCTION(AlltoAll, Bytes, 16);
STANDIN_NVTX_FUNCTION(Gather, BytesRoot, 17);
STANDIN_NVTX_FUNCTION(Scatter, BytesRoot, 18);
STANDIN_NVTX_FUNCTION(CommRevoke, Seat, 19);
STANDIN_NVTX_FUNCTION(GroupStart, Nothing, 0);
STANDIN_NVTX_FUNCTION(GroupEnd, Nothing, 0);
STANDIN_NVTX_FUNCTION(GroupSimulateEnd, Nothing, 0);
STANDIN_NVTX_FUNCTION(CommCount, Nothing, 0);
STANDIN_NVTX_FUNCTION(CommCuDevice, Nothing, 0);
STANDIN_NVTX_FUNCTION(CommUserRank, Nothing, 0);
STANDIN_NVTX_FUNCTION(MemAlloc, Nothing, 0);
STANDIN_NVTX_FUNCTION(MemFree, Nothing, 0);
#undef STANDIN_NVTX_FUNCTION

/// True where a tool has taken the domain.
bool enabled();

/// Tells the tool of the enumeration of reductions; NCCL does when it is initialised.
void register_reductions();

/// Strings and schemas are registered with the function's first range. A null payload: none. `schema` is
/// NCCL's number.
void* register_name(const char* name);
void register_schema(std::uint64_t schema, const Member* members, std::size_t count, std::size_t bytes);
void push(void* name, std::uint64_t schema, const void* payload, std::size_t bytes);
void pop(std::uint64_t schema, const void* payload, std::size_t bytes);

/// From its construction to its end a range of the calling thread.
template <class Function>
class Range {
  using Payload = typename Function::Payload;
  static constexpr bool kHasPayload = !std::is_same_v<Payload, Nothing>;

 public:
  /// Without payload at its begin; it may get one for its end.
  Range() : pushed_(enabled()) {
    if (pushed_) push(name(), 0, nullptr, 0);
  }
  /// `describe()` gives the payload, and is called only if somebody looks.
  template <class Describe>
  explicit Range(Describe describe) : pushed_(enabled()) {
    if (!pushed_) return;
    declare();
    const Payload payload = describe();
    push(name(), Function::kSchema, &payload, sizeof payload);
  }
  Range(const Range&) = delete;
  ~Range() {
    if (pushed_) pop(Function::kSchema, ends_with_payload_ ? &payload_ : nullptr, sizeof payload_);
  }

  /// What the range's end tells.
  template <class Describe>
  void end_with(Describe describe) {
    if (!pushed_) return;
    declare();
    payload_ = describe();
    ends_with_payload_ = true;
  }

 private:
  static void* name() {
    static void* const registered = register_name(Function::kName);
    return registered;
  }
  static void declare() {
    static const bool declared = [] {
      register_schema(Function::kSchema, Payload::kMembers, std::size(Payload::kMembers), sizeof(Payload));
      return true;
    }();
    (void)declared;
  }

  const bool pushed_;
  bool ends_with_payload_ = false;
  Payload payload_{};
};

}  // namespace ddpscope::standin::nccl::nvtx
