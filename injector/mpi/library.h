// The MPI that this process uses: how it hands out its objects, and what it says of them.
#pragma once
#include <cstdint>

#include "injector/core/real.h"

namespace ddpscope::injector::mpi {

// A communicator, datatype, operation, group or request as it lies in a register. Open MPI's are pointers,
// those of MPICH and its relatives numbers of 32 bits, above which anything may stand. The hooks hand it on
// as it came.
using Handle = std::uint64_t;

enum class Abi : std::uint8_t {
  kUnknown,  // not asked yet, or another one: its objects are left alone
  kOpenMpi,
  kMpich,
};

// Asks at the first call, which MPI allows at any time. What follows holds between MPI_Init and MPI_Finalize
// only.
Abi abi();

// The handle itself, without what stands above it.
Handle plain(Handle handle);
// The number of bytes that a handle takes in memory, and the one that lies there.
std::size_t handle_bytes();
Handle handle_in(const Handle* place);

Handle world();
Handle no_communicator();

// Of functions of MPI that are called and not hooked: by their second names, which stay MPI's own where a
// profiler has replaced the first.
using OfCommunicator = int(Handle communicator, int* answer);
extern NamedFunction<OfCommunicator> comm_rank, comm_size, comm_test_inter;

// Ranks of the world, one after the other, of the members of a communicator; they are asked for by parts, for
// there may be thousands.
class Members {
 public:
  explicit Members(Handle communicator);
  ~Members();
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;

  // Whether `count` of them from `first` on could be had.
  bool get(int first, int count, int* ranks_of_world) const;

 private:
  Handle group_ = 0, of_world_ = 0;
  bool known_ = false;
};

// ncclDataType_t, or 128 + c10::ScalarType, of a datatype that MPI has a name for; kUnknownType for all
// others.
constexpr std::uint8_t kUnknownType = 0xFF;
std::uint8_t type_code(Handle datatype);
// In bytes; 0: MPI does not say.
std::uint64_t type_bytes(Handle datatype);

// As `reduction` in trace/named_values.def.
std::uint8_t reduction_code(Handle operation);

}  // namespace ddpscope::injector::mpi
