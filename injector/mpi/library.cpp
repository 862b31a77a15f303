// Nothing of a header of MPI is used: programs bring different ones.
#include "injector/mpi/library.h"

#include <dlfcn.h>
#include <string.h>

#include <atomic>

#include "injector/core/turn.h"

namespace ddpscope::injector::mpi {
namespace {

// MPICH, mpi.h: MPI_COMM_WORLD, MPI_COMM_NULL, MPI_DATATYPE_NULL, and the first of its operations.
constexpr Handle kMpichWorld = 0x44000000, kMpichNoCommunicator = 0x04000000, kMpichNoType = 0x0C000000,
                 kMpichMax = 0x58000001;

NamedFunction<int(char* version, int* length)> get_library_version{"PMPI_Get_library_version"};
NamedFunction<int(Handle communicator, Handle* group)> comm_group{"PMPI_Comm_group"};
NamedFunction<int(Handle* group)> group_free{"PMPI_Group_free"};
NamedFunction<int(Handle from, int count, const int* ranks, Handle to, int* answers)> translate_ranks{
    "PMPI_Group_translate_ranks"};
NamedFunction<int(Handle datatype, int* bytes)> type_size{"PMPI_Type_size"};
NamedFunction<int(Handle datatype, char* name, int* length)> type_get_name{"PMPI_Type_get_name"};

// Open MPI's objects, by their names. The linker may have copied one into the program, where it then is for
// all.
void* find_object(const char* symbol) {
  void* of_all = real_dlsym(RTLD_DEFAULT, symbol);
  return of_all ? of_all : find_function(symbol);
}
class NamedObject {
 public:
  constexpr explicit NamedObject(const char* symbol) : symbol_(symbol) {}
  Handle get() {
    void* known = __atomic_load_n(&known_, __ATOMIC_RELAXED);
    if (!known) {
      known = find_object(symbol_);
      __atomic_store_n(&known_, known, __ATOMIC_RELAXED);
    }
    return reinterpret_cast<Handle>(known);
  }

 private:
  const char* symbol_;
  void* known_ = nullptr;
};
NamedObject open_mpi_world{"ompi_mpi_comm_world"}, open_mpi_no_communicator{"ompi_mpi_comm_null"},
    open_mpi_no_type{"ompi_mpi_datatype_null"};

bool is_mpich() {
  constexpr const char* kRelatives[] = {"MPICH", "MVAPICH", "Intel(R) MPI"};
  static char version[16384];  // MPI_MAX_LIBRARY_VERSION_STRING is 8192 in MPICH
  auto* ask = get_library_version.get();
  int length = 0;
  if (!ask || ask(version, &length) != 0) return false;
  version[sizeof(version) - 1] = 0;
  for (const char* name : kRelatives)
    if (strstr(version, name)) return true;
  return false;
}

// In the order of MPICH's numbers: mpi.h says that they will not change.
struct NamedOperation {
  NamedObject of_open_mpi;
  std::uint8_t code;
};
NamedOperation operations[] = {
    {NamedObject{"ompi_mpi_op_max"}, 2},     {NamedObject{"ompi_mpi_op_min"}, 3},
    {NamedObject{"ompi_mpi_op_sum"}, 0},     {NamedObject{"ompi_mpi_op_prod"}, 1},
    {NamedObject{"ompi_mpi_op_land"}, 19},   {NamedObject{"ompi_mpi_op_band"}, 16},
    {NamedObject{"ompi_mpi_op_lor"}, 20},    {NamedObject{"ompi_mpi_op_bor"}, 17},
    {NamedObject{"ompi_mpi_op_lxor"}, 21},   {NamedObject{"ompi_mpi_op_bxor"}, 18},
    {NamedObject{"ompi_mpi_op_minloc"}, 23}, {NamedObject{"ompi_mpi_op_maxloc"}, 22},
};
constexpr std::uint8_t kOwnReduction = 0xFE;

struct NamedType {
  const char* name;
  std::uint8_t code;
};
constexpr NamedType kTypes[] = {
    {"MPI_CHAR", 0},
    {"MPI_SIGNED_CHAR", 0},
    {"MPI_INT8_T", 0},
    {"MPI_CHARACTER", 0},
    {"MPI_BYTE", 1},
    {"MPI_PACKED", 1},
    {"MPI_UNSIGNED_CHAR", 1},
    {"MPI_UINT8_T", 1},
    {"MPI_SHORT", 130},
    {"MPI_INT16_T", 130},
    {"MPI_UNSIGNED_SHORT", 155},
    {"MPI_UINT16_T", 155},
    {"MPI_INT", 2},
    {"MPI_INT32_T", 2},
    {"MPI_INTEGER", 2},
    {"MPI_INTEGER4", 2},
    {"MPI_UNSIGNED", 3},
    {"MPI_UINT32_T", 3},
    {"MPI_LONG", 4},
    {"MPI_LONG_LONG", 4},
    {"MPI_LONG_LONG_INT", 4},
    {"MPI_INT64_T", 4},
    {"MPI_INTEGER8", 4},
    {"MPI_AINT", 4},
    {"MPI_OFFSET", 4},
    {"MPI_COUNT", 4},
    {"MPI_UNSIGNED_LONG", 5},
    {"MPI_UNSIGNED_LONG_LONG", 5},
    {"MPI_UINT64_T", 5},
    {"MPI_FLOAT", 7},
    {"MPI_REAL", 7},
    {"MPI_REAL4", 7},
    {"MPI_DOUBLE", 8},
    {"MPI_DOUBLE_PRECISION", 8},
    {"MPI_REAL8", 8},
    {"MPI_C_BOOL", 139},
    {"MPI_CXX_BOOL", 139},
    {"MPI_C_COMPLEX", 137},
    {"MPI_C_FLOAT_COMPLEX", 137},
    {"MPI_CXX_FLOAT_COMPLEX", 137},
    {"MPI_COMPLEX", 137},
    {"MPI_C_DOUBLE_COMPLEX", 138},
    {"MPI_CXX_DOUBLE_COMPLEX", 138},
    {"MPI_DOUBLE_COMPLEX", 138},
};

// About it MPI may not be asked: it would end the job.
bool is_no_type(Handle datatype) {
  return plain(datatype) == (abi() == Abi::kMpich ? kMpichNoType : open_mpi_no_type.get());
}

std::uint8_t code_by_name(Handle datatype) {
  char name[256] = "";  // MPI_MAX_OBJECT_NAME is 64 in Open MPI, 128 in MPICH
  int length = 0;
  auto* ask = type_get_name.get();
  if (!ask || is_no_type(datatype) || ask(datatype, name, &length) != 0) return kUnknownType;
  for (const NamedType& type : kTypes)
    if (strcmp(type.name, name) == 0) return type.code;
  return kUnknownType;
}

// Datatypes that MPI has a name for, which stay what they are.
struct KnownType {
  Handle handle;  // __atomic; 0: the place is free
  std::uint8_t code;
};
constexpr std::uint32_t kKnownTypes = 32;
KnownType known_types[kKnownTypes];
std::uint32_t used_types;  // __atomic
std::atomic<bool> adding_type;

}  // namespace

NamedFunction<OfCommunicator> comm_rank{"PMPI_Comm_rank"}, comm_size{"PMPI_Comm_size"},
    comm_test_inter{"PMPI_Comm_test_inter"};

Abi abi() {
  static Abi known;   // __atomic
  static bool asked;  // __atomic
  if (!__atomic_load_n(&asked, __ATOMIC_ACQUIRE)) {
    Abi found = open_mpi_world.get() ? Abi::kOpenMpi : is_mpich() ? Abi::kMpich : Abi::kUnknown;
    __atomic_store_n(&known, found, __ATOMIC_RELAXED);
    __atomic_store_n(&asked, true, __ATOMIC_RELEASE);
  }
  return __atomic_load_n(&known, __ATOMIC_RELAXED);
}

Handle plain(Handle handle) { return abi() == Abi::kMpich ? handle & 0xFFFFFFFF : handle; }
std::size_t handle_bytes() { return abi() == Abi::kMpich ? 4 : 8; }
Handle handle_in(const Handle* place) {
  Handle handle = 0;
  memcpy(&handle, place, handle_bytes());
  return handle;
}

Handle world() { return abi() == Abi::kMpich ? kMpichWorld : open_mpi_world.get(); }
Handle no_communicator() {
  return abi() == Abi::kMpich ? kMpichNoCommunicator : open_mpi_no_communicator.get();
}

Members::Members(Handle communicator) {
  auto* group = comm_group.get();
  known_ = group && translate_ranks.get() && group_free.get() && group(communicator, &group_) == 0 &&
           group(world(), &of_world_) == 0;
}

Members::~Members() {
  if (group_) group_free.get()(&group_);
  if (of_world_) group_free.get()(&of_world_);
}

bool Members::get(int first, int count, int* ranks_of_world) const {
  constexpr int kMost = 256;
  int ranks[kMost];
  if (!known_ || count > kMost) return false;
  for (int i = 0; i < count; ++i) ranks[i] = first + i;
  return translate_ranks.get()(group_, count, ranks, of_world_, ranks_of_world) == 0;
}

std::uint8_t type_code(Handle datatype) {
  datatype = plain(datatype);
  std::uint32_t used = __atomic_load_n(&used_types, __ATOMIC_ACQUIRE);
  for (std::uint32_t i = 0; i < used; ++i)
    if (known_types[i].handle == datatype) return known_types[i].code;
  std::uint8_t code = code_by_name(datatype);
  if (code == kUnknownType) return code;
  if (Turn turn(adding_type); turn && used_types < kKnownTypes) {
    known_types[used_types] = {datatype, code};
    __atomic_store_n(&used_types, used_types + 1, __ATOMIC_RELEASE);
  }
  return code;
}

std::uint64_t type_bytes(Handle datatype) {
  auto* ask = type_size.get();
  int bytes = 0;
  bool said = ask && !is_no_type(datatype) && ask(datatype, &bytes) == 0 && bytes > 0;
  return said ? static_cast<std::uint64_t>(bytes) : 0;
}

std::uint8_t reduction_code(Handle operation) {
  operation = plain(operation);
  Handle of_mpich = kMpichMax;
  for (NamedOperation& known : operations) {
    Handle handle = abi() == Abi::kMpich ? of_mpich++ : known.of_open_mpi.get();
    if (handle == operation) return known.code;
  }
  return kOwnReduction;
}

}  // namespace ddpscope::injector::mpi
