// What the API's ways to create a communicator have in common.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "standin/nccl/communicator.h"
#include "standin/nccl/failure.h"

namespace ddpscope::standin::nccl {

/// What an argument points to. Throws Failure (ncclInvalidArgument) where it is NULL.
template <typename T>
T& required(T* pointer, const char* name) {
  if (!pointer) throw Failure(ncclInvalidArgument, std::string(name) + " argument is NULL");
  return *pointer;
}

/// Throws Failure (ncclInvalidArgument). NULL is none, and right.
void check_config(const ncclConfig_t* config);
bool is_non_blocking(const ncclConfig_t* config);
std::string name_in(const ncclConfig_t* config);

/// Hands out the handle before the communicator is connected, as NCCL does, so that another thread can abort
/// a creation that waits for a rank that never comes. A failed creation takes the handle back; one that does
/// not block leaves it, with its error. True: it goes on. `parent`: over which its ranks meet, if it has one.
bool create(ncclComm_t* handle, const std::shared_ptr<Communicator>& communicator, bool non_blocking,
            std::function<void(Communicator&)> connect, const Communicator* parent = nullptr);
bool create_by_id(ncclComm_t* handle, int device, const ncclUniqueId& id, int rank, int size,
                  const ncclConfig_t* config = nullptr);

inline ncclResult_t result_if(bool goes_on) { return goes_on ? ncclInProgress : ncclSuccess; }

}  // namespace ddpscope::standin::nccl
