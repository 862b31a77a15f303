// Operations that differ between ranks: they hang, a rank that sees it says who differs, an abort ends them.
#include <unistd.h>

#include "nccl_rank.h"

namespace {

constexpr std::size_t kSmall = 16;         // through the hub
constexpr std::size_t kLarge = 64 * 1024;  // by direct exchange

struct Call {
  ncclComm_t comm;
  cudaStream_t stream;
  float* in;
  float* out;
  bool odd;  ///< the last rank, which does something else
};

/// Enqueues the call, waits until a rank has seen the mismatch, and checks that the operation of the odd rank
/// and that of rank 0, which needs the odd one in each of these calls, still hang; then aborts them.
void expect_hang(ncclResult_t (*call)(const Call&)) {
  const ncclComm_t comm = make_communicator();
  cudaStream_t stream;
  REQUIRE_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const auto most = 2 * kLarge * static_cast<std::size_t>(job().size);
  const DeviceBuffer<float> in(most), out(most);
  const bool odd = job().rank == job().size - 1;
  REQUIRE_NCCL(call({comm, stream, in.get(), out.get(), odd}));

  const std::string note = job().directory + "/seen";
  REQUIRE(eventually([&] {
    if (last_error_has("neither can complete")) leave_note("seen");
    return access(note.c_str(), F_OK) == 0;
  }));
  if (odd || job().rank == 0) REQUIRE(pending(stream));
  ncclResult_t error;
  REQUIRE_NCCL(ncclCommGetAsyncError(comm, &error));
  REQUIRE(error == ncclSuccess);        // NCCL knows nothing of a mismatch
  await_notes_of_all("still-hanging");  // the first abort ends the connections of the others
  REQUIRE_NCCL(ncclCommAbort(comm));
  REQUIRE(eventually([&] { return !pending(stream); }));
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
}

ncclResult_t all_reduce(const Call& c, std::size_t count, ncclDataType_t type = ncclFloat32,
                        ncclRedOp_t op = ncclSum) {
  return ncclAllReduce(c.in, c.out, count, type, op, c.comm, c.stream);
}

void count() {
  expect_hang([](const Call& c) { return all_reduce(c, c.odd ? kSmall + 1 : kSmall); });
}
void count_over_the_hub_limit() {
  expect_hang([](const Call& c) { return all_reduce(c, c.odd ? kSmall : kLarge); });
}
void datatype() {
  expect_hang([](const Call& c) { return all_reduce(c, kSmall, c.odd ? ncclInt32 : ncclFloat32); });
}
void reduction() {
  expect_hang([](const Call& c) { return all_reduce(c, kSmall, ncclFloat32, c.odd ? ncclMax : ncclSum); });
}
void kind() {
  expect_hang([](const Call& c) {
    return c.odd ? ncclAllGather(c.in, c.out, kSmall, ncclFloat32, c.comm, c.stream) : all_reduce(c, kSmall);
  });
}
void two_roots() {
  expect_hang([](const Call& c) {
    return ncclBroadcast(c.in, c.out, 2 * kLarge, ncclFloat32, c.odd ? job().rank : 0, c.comm, c.stream);
  });
}

/// Who broadcasts little runs ahead, and learns in its next operation what the others were in.
void small_broadcast() {
  expect_hang([](const Call& c) {
    if (!c.odd && job().rank != 0) return ncclSuccess;
    if (c.odd) return ncclBroadcast(c.in, c.out, kSmall + 1, ncclFloat32, 0, c.comm, c.stream);
    const ncclResult_t small = ncclBroadcast(c.in, c.out, kSmall, ncclFloat32, 0, c.comm, c.stream);
    return small == ncclSuccess ? all_reduce(c, kSmall) : small;
  });
}
void message_size() {
  expect_hang([](const Call& c) {
    if (c.odd) return ncclRecv(c.out, kSmall + 1, ncclFloat32, 0, c.comm, c.stream);
    if (job().rank == 0) return ncclSend(c.in, kSmall, ncclFloat32, job().size - 1, c.comm, c.stream);
    return ncclSuccess;
  });
}

/// Equal calls match by order: a rank that makes one fewer leaves the others in their last.
void one_call_fewer() {
  const ncclComm_t comm = make_communicator();
  const bool odd = job().rank == job().size - 1;
  const DeviceBuffer<float> buffer(std::vector<float>(kSmall, 1.0F));
  cudaStream_t stream;
  REQUIRE_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int i = 0; i < 3; ++i)
    REQUIRE_NCCL(all_reduce({comm, stream, buffer.get(), buffer.get(), odd}, kSmall));
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  if (odd) return await_notes_of_all("done");  // alive, but never there
  REQUIRE_NCCL(all_reduce({comm, stream, buffer.get(), buffer.get(), odd}, kSmall));
  const timespec pause{0, 100'000'000};
  nanosleep(&pause, nullptr);
  REQUIRE(pending(stream));
  REQUIRE_NCCL(ncclCommAbort(comm));
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  await_notes_of_all("done");
}

}  // namespace

int main(int argc, char** argv) {
  return run_scenario(argc, argv,
                      {{"count", count},
                       {"count-over-the-hub-limit", count_over_the_hub_limit},
                       {"datatype", datatype},
                       {"reduction", reduction},
                       {"kind", kind},
                       {"two-roots", two_roots},
                       {"small-broadcast", small_broadcast},
                       {"message-size", message_size},
                       {"one-call-fewer", one_call_fewer}});
}
