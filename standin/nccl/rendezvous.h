// How the ranks of a new communicator find each other: a root in the process that made the unique id.
#pragma once

#include <nccl.h>

#include <array>
#include <vector>

#include "standin/nccl/socket.h"

namespace ddpscope::standin::nccl {

/// Random, so that a connection meant for another communicator is recognised.
using Nonce = std::array<std::uint8_t, 16>;
Nonce make_nonce();

/// What every rank of a new communicator knows of every other. Sent as it lies in memory.
struct Member {
  Address address;  ///< where it listens for its peers
  Nonce nonce;
  std::uint64_t host;  ///< hash of NCCL_HOSTID, else of host name and boot id
  std::array<std::uint8_t, 16> device_uuid;
  std::int32_t device;            ///< CUDA ordinal in its own process
  std::int32_t may_share_device;  ///< NCCL_MULTI_RANK_GPU_ENABLE=1
  std::int32_t color;             ///< of a split, else 0
  std::int32_t key;               ///< of a split, else 0
};

/// Starts the root thread, which ends once it has served one communicator, and returns the id that leads to
/// it.
ncclUniqueId make_unique_id();

/// A rank's seat among its peers, before they are connected.
struct Seat {
  int rank;
  std::vector<Member> members;  ///< by rank
  Descriptor listener;          ///< where members[rank].address says
};

/// Goes to the root, waits until all `size` ranks have come, and returns with the list of them. `self` needs
/// no address: it is the one by which the root is reached. Throws Failure, Released.
Seat join(const ncclUniqueId& id, int rank, int size, Member self, const Release& release);

/// Throws Failure if two members are on one device and have not both allowed that: ncclInvalidUsage on those
/// two, ncclRemoteError on the others.
void refuse_shared_devices(const Seat& seat);

/// Host and device of this process: all of Member that does not depend on the communicator.
Member describe_self(int device);

}  // namespace ddpscope::standin::nccl
