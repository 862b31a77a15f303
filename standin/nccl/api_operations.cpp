// The API's part that moves data: collectives, messages, groups, reductions of the user's own.
#include <algorithm>
#include <cstring>

#include "standin/nccl/boundary.h"
#include "standin/nccl/failure.h"
#include "standin/nccl/group.h"
#include "standin/nccl/nvtx.h"

using namespace ddpscope::standin::nccl;

namespace {

constexpr unsigned kSimInfoMagic = 0x74685283;
constexpr int kNoRoot = -1;

/// For a payload: 0 where the handle is none.
std::uint64_t hash_of(ncclComm_t comm) {
  try {
    return find_handle(comm)->hash();
  } catch (const Failure&) {
    return 0;
  }
}

std::size_t bytes_of(std::size_t count, ncclDataType_t datatype) { return count * element_size(datatype); }

[[noreturn]] void invalid(const std::string& why) { throw Failure(ncclInvalidArgument, why); }

std::size_t checked_element_size(ncclDataType_t datatype) {
  const std::size_t size = element_size(datatype);
  if (!size) invalid("invalid type " + std::to_string(datatype));
  return size;
}

void check_rank(const Communicator& communicator, int rank, const char* role) {
  if (rank < 0 || rank >= communicator.size()) {
    invalid(std::string("invalid ") + role + " " + std::to_string(rank) +
            " (comm nRanks = " + std::to_string(communicator.size()) + ")");
  }
}

std::uint32_t reduction_code(ncclRedOp_t op) { return static_cast<std::uint32_t>(std::min(op, ncclNumOps)); }

/// `op` is ncclSum and unused where nothing is reduced; a buffer is nullptr only where this rank does not use
/// it.
void submit_collective(ncclComm_t comm, cudaStream_t stream, Kind kind, const void* send, void* recv,
                       std::size_t count, ncclDataType_t datatype, ncclRedOp_t op, int root) {
  const auto communicator = find_handle(comm);
  checked_element_size(datatype);
  if (root != kNoRoot || kind == Kind::kBroadcast || kind == Kind::kReduce)
    check_rank(*communicator, root, "root");
  const Reduction reduction = communicator->reduction(op, datatype);
  const bool at_root = root == kNoRoot || root == communicator->rank();
  const bool sends = kind != Kind::kBroadcast || at_root;
  const bool receives = kind != Kind::kReduce || at_root;
  if (count == 0) return;  // NCCL discards empty collectives, too
  if ((sends && !send) || (receives && !recv)) invalid("a buffer is NULL");
  const Signature signature{kind, static_cast<std::uint32_t>(datatype), reduction_code(op), root, count};
  const Collective collective{signature, send, recv, reduction};
  group::submit(communicator, stream, {&collective, 1}, {});
}

void submit_message(ncclComm_t comm, cudaStream_t stream, Message::Direction direction, void* buffer,
                    std::size_t count, ncclDataType_t datatype, int peer) {
  const auto communicator = find_handle(comm);
  const std::size_t bytes = count * checked_element_size(datatype);
  check_rank(*communicator, peer, "peer");
  if (bytes && !buffer) invalid("a buffer is NULL");
  const Message message{direction, peer, buffer, bytes, count, datatype};
  group::submit(communicator, stream, {}, {&message, 1});
}

/// AlltoAll, Gather and Scatter are groups of messages, as in NCCL 2.28: block r of the send buffer goes to
/// rank `to` (every rank if kNoRoot), block r of the receive buffer comes from rank r, for the ranks that
/// take part.
class Blocks {
 public:
  Blocks(ncclComm_t comm, const void* send, void* recv, std::size_t count, ncclDataType_t datatype)
      : communicator_(find_handle(comm)),
        bytes_(count * checked_element_size(datatype)),
        count_(count),
        datatype_(datatype),
        send_(static_cast<std::byte*>(const_cast<void*>(send))),
        recv_(static_cast<std::byte*>(recv)) {}

  Communicator& communicator() const { return *communicator_; }
  void send(int peer, int block) { add(Message::kSend, peer, send_, block); }
  void receive(int peer, int block) { add(Message::kReceive, peer, recv_, block); }
  void submit(cudaStream_t stream) {
    if (bytes_) group::submit(communicator_, stream, {}, messages_);
  }

 private:
  void add(Message::Direction direction, int peer, std::byte* buffer, int block) {
    if (bytes_ && !buffer) invalid("a buffer is NULL");
    messages_.push_back(
        {direction, peer, buffer + bytes_ * static_cast<std::size_t>(block), bytes_, count_, datatype_});
  }

  std::shared_ptr<Communicator> communicator_;
  std::size_t bytes_;
  std::size_t count_;
  ncclDataType_t datatype_;
  std::byte* send_;
  std::byte* recv_;
  std::vector<Message> messages_;
};

}  // namespace

ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  const nvtx::Range<nvtx::AllReduce> range([&] {
    return nvtx::BytesReduction{hash_of(comm), bytes_of(count, datatype), op};
  });
  return guarded(__func__, [&] {
    submit_collective(comm, stream, Kind::kAllReduce, sendbuff, recvbuff, count, datatype, op, kNoRoot);
  });
}
STANDIN_PROFILING_TWIN(ncclAllReduce);

ncclResult_t ncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype,
                           ncclComm_t comm, cudaStream_t stream) {
  const nvtx::Range<nvtx::AllGather> range([&] {
    return nvtx::Bytes{hash_of(comm), bytes_of(sendcount, datatype)};
  });
  return guarded(__func__, [&] {
    submit_collective(comm, stream, Kind::kAllGather, sendbuff, recvbuff, sendcount, datatype, ncclSum,
                      kNoRoot);
  });
}
STANDIN_PROFILING_TWIN(ncclAllGather);

ncclResult_t ncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                               ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream) {
  const nvtx::Range<nvtx::ReduceScatter> range([&] {
    return nvtx::BytesReduction{hash_of(comm), bytes_of(recvcount, datatype), op};
  });
  return guarded(__func__, [&] {
    submit_collective(comm, stream, Kind::kReduceScatter, sendbuff, recvbuff, recvcount, datatype, op,
                      kNoRoot);
  });
}
STANDIN_PROFILING_TWIN(ncclReduceScatter);

ncclResult_t ncclBroadcast(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  const nvtx::Range<nvtx::Broadcast> range([&] {
    return nvtx::BytesRoot{hash_of(comm), bytes_of(count, datatype), root};
  });
  return guarded(__func__, [&] {
    submit_collective(comm, stream, Kind::kBroadcast, sendbuff, recvbuff, count, datatype, ncclSum, root);
  });
}
STANDIN_PROFILING_TWIN(ncclBroadcast);

ncclResult_t ncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return ncclBroadcast(buff, buff, count, datatype, root, comm, stream);
}
STANDIN_PROFILING_TWIN(ncclBcast);

ncclResult_t ncclReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  const nvtx::Range<nvtx::Reduce> range([&] {
    return nvtx::BytesRootReduction{hash_of(comm), bytes_of(count, datatype), root, op};
  });
  return guarded(__func__, [&] {
    submit_collective(comm, stream, Kind::kReduce, sendbuff, recvbuff, count, datatype, op, root);
  });
}
STANDIN_PROFILING_TWIN(ncclReduce);

ncclResult_t ncclAlltoAll(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                          ncclComm_t comm, cudaStream_t stream) {
  const nvtx::Range<nvtx::AlltoAll> range([&] {
    return nvtx::Bytes{hash_of(comm), bytes_of(count, datatype)};
  });
  return guarded(__func__, [&] {
    Blocks blocks(comm, sendbuff, recvbuff, count, datatype);
    for (int peer = 0; peer < blocks.communicator().size(); ++peer) {
      blocks.send(peer, peer);
      blocks.receive(peer, peer);
    }
    blocks.submit(stream);
  });
}
STANDIN_PROFILING_TWIN(ncclAlltoAll);

ncclResult_t ncclGather(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  const nvtx::Range<nvtx::Gather> range([&] {
    return nvtx::BytesRoot{hash_of(comm), bytes_of(count, datatype), root};
  });
  return guarded(__func__, [&] {
    Blocks blocks(comm, sendbuff, recvbuff, count, datatype);
    check_rank(blocks.communicator(), root, "root");
    blocks.send(root, 0);
    if (blocks.communicator().rank() == root) {
      for (int peer = 0; peer < blocks.communicator().size(); ++peer) blocks.receive(peer, peer);
    }
    blocks.submit(stream);
  });
}
STANDIN_PROFILING_TWIN(ncclGather);

ncclResult_t ncclScatter(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                         int root, ncclComm_t comm, cudaStream_t stream) {
  const nvtx::Range<nvtx::Scatter> range([&] {
    return nvtx::BytesRoot{hash_of(comm), bytes_of(count, datatype), root};
  });
  return guarded(__func__, [&] {
    Blocks blocks(comm, sendbuff, recvbuff, count, datatype);
    check_rank(blocks.communicator(), root, "root");
    blocks.receive(root, 0);
    if (blocks.communicator().rank() == root) {
      for (int peer = 0; peer < blocks.communicator().size(); ++peer) blocks.send(peer, peer);
    }
    blocks.submit(stream);
  });
}
STANDIN_PROFILING_TWIN(ncclScatter);

ncclResult_t ncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  const nvtx::Range<nvtx::Send> range([&] {
    return nvtx::BytesPeer{hash_of(comm), bytes_of(count, datatype), peer};
  });
  return guarded(__func__, [&] {
    submit_message(comm, stream, Message::kSend, const_cast<void*>(sendbuff), count, datatype, peer);
  });
}
STANDIN_PROFILING_TWIN(ncclSend);

ncclResult_t ncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  const nvtx::Range<nvtx::Recv> range([&] {
    return nvtx::BytesPeer{hash_of(comm), bytes_of(count, datatype), peer};
  });
  return guarded(__func__,
                 [&] { submit_message(comm, stream, Message::kReceive, recvbuff, count, datatype, peer); });
}
STANDIN_PROFILING_TWIN(ncclRecv);

ncclResult_t ncclGroupStart() {
  const nvtx::Range<nvtx::GroupStart> range;
  return guarded(__func__, [] { group::start(); });
}
STANDIN_PROFILING_TWIN(ncclGroupStart);

ncclResult_t ncclGroupEnd() {
  const nvtx::Range<nvtx::GroupEnd> range;
  return guarded(__func__, [] { return group::end() ? ncclInProgress : ncclSuccess; });
}
STANDIN_PROFILING_TWIN(ncclGroupEnd);

// The estimate is the link model's; 0 without one.
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* simInfo) {
  const nvtx::Range<nvtx::GroupSimulateEnd> range;
  return guarded(__func__, [&] {
    if (!simInfo || simInfo->magic != kSimInfoMagic)
      invalid("simInfo is not set up by NCCL_SIM_INFO_INITIALIZER");
    simInfo->estimatedTime = std::chrono::duration<float, std::micro>(group::simulate_end()).count();
  });
}
STANDIN_PROFILING_TWIN(ncclGroupSimulateEnd);

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
  return guarded(__func__, [&] {
    if (!op || !scalar) invalid("an argument is NULL");
    const std::size_t size = checked_element_size(datatype);
    Reduction::Factor factor;
    if (residence == ncclScalarHostImmediate) {
      std::memcpy(factor.value.data(), scalar, size);
    } else {
      factor.device = scalar;
    }
    *op = find_handle(comm)->add_pre_multiplied_sum(factor);
  });
}
STANDIN_PROFILING_TWIN(ncclRedOpCreatePreMulSum);

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  return guarded(__func__, [&] { find_handle(comm)->remove_reduction(op); });
}
STANDIN_PROFILING_TWIN(ncclRedOpDestroy);
