// What a communicator answers about itself (NCCL 2.29) and the encryption of connections (NCCL 2.32).
#include <algorithm>
#include <cstring>

#include "standin/nccl/boundary.h"
#include "standin/nccl/creation.h"

using namespace ddpscope::standin::nccl;

namespace {

constexpr unsigned kApiMagic = 0xcafebeef;

template <typename Struct>
void check_magic(const Struct& argument, const char* type) {
  if (argument.magic != kApiMagic)
    throw Failure(ncclInvalidArgument, std::string(type) + " argument was not initialized");
}

}  // namespace

// The structure grew with each version: a caller gets as much of it as it has room for. Nothing that needs a
// device's help is supported, so all fields behind the device are 0 but for the hash.
ncclResult_t ncclCommQueryProperties(ncclComm_t comm, ncclCommProperties_t* props) {
  return guarded(__func__, [&] {
    const auto communicator = find_connected(comm);
    check_magic(required(props, "props"), "ncclCommProperties_t");
    ncclCommProperties_t all{};
    all.size = props->size;
    all.magic = props->magic;
    all.version = props->version;
    all.rank = communicator->rank();
    all.nRanks = communicator->size();
    all.cudaDev = all.nvmlDev = communicator->device();
    all.nLsaTeams = communicator->size();
    all.commHash = communicator->hash();
    std::memcpy(props, &all, std::min(props->size, sizeof all));
  });
}
STANDIN_PROFILING_TWIN(ncclCommQueryProperties);

ncclResult_t ncclSetEncryption(const ncclEncryptionConfig_t* config) {
  return guarded(__func__, [&] {
    check_magic(required(config, "config"), "ncclEncryptionConfig_t");
    if (config->mode != 0) throw Failure(ncclInvalidUsage, "this stand-in does not encrypt");
  });
}
STANDIN_PROFILING_TWIN(ncclSetEncryption);
