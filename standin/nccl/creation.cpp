// Handles are there before their communicators are.
#include "standin/nccl/creation.h"

#include "standin/nccl/group.h"
#include "standin/nccl/link_model.h"
#include "standin/nccl/nvtx.h"

namespace ddpscope::standin::nccl {
namespace {

constexpr unsigned kConfigMagic = 0xcafebeef;

}  // namespace

void check_config(const ncclConfig_t* config) {
  if (!config) return;
  if (config->magic != kConfigMagic) {
    throw Failure(ncclInvalidArgument, "ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER");
  }
  if (config->blocking != NCCL_CONFIG_UNDEF_INT && config->blocking != 0 && config->blocking != 1) {
    throw Failure(ncclInvalidArgument,
                  "Invalid config blocking attribute value " + std::to_string(config->blocking));
  }
}

bool is_non_blocking(const ncclConfig_t* config) { return config && config->blocking == 0; }

std::string name_in(const ncclConfig_t* config) { return config && config->commName ? config->commName : ""; }

bool create(ncclComm_t* handle, const std::shared_ptr<Communicator>& communicator, bool non_blocking,
            std::function<void(Communicator&)> connect, const Communicator* parent) {
  nvtx::register_reductions();
  link_model();  // what cannot be read is refused here, not in the middle of the job
  *handle = add_handle(communicator);
  const Communicator* const on = parent ? parent : communicator.get();
  return group::run(on, [handle, communicator, non_blocking, connect = std::move(connect)] {
    if (non_blocking) {
      communicator->connect_later(connect);
      return true;
    }
    try {
      connect(*communicator);
      return false;
    } catch (...) {
      remove_handle(*handle);
      *handle = nullptr;
      throw;
    }
  });
}

bool create_by_id(ncclComm_t* handle, int device, const ncclUniqueId& id, int rank, int size,
                  const ncclConfig_t* config) {
  if (size < 1 || rank < 0 || rank >= size) {
    throw Failure(ncclInvalidArgument,
                  "Invalid rank requested : " + std::to_string(rank) + "/" + std::to_string(size));
  }
  return create(&required(handle, "comm"), std::make_shared<Communicator>(device, name_in(config)),
                is_non_blocking(config),
                [id, rank, size](Communicator& communicator) { communicator.init(id, rank, size); });
}

}  // namespace ddpscope::standin::nccl
