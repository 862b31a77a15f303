// Groups, streams, several ranks in one process, and what a call refuses.
#include <signal.h>

#include <atomic>
#include <cmath>
#include <memory>

#include "nccl_rank.h"

extern "C" ncclResult_t ncclDevCommCreate(ncclComm_t, const void*, void*);  // of NCCL's device API

namespace {

cudaStream_t new_stream() {
  cudaStream_t stream;
  REQUIRE_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

int next() { return (job().rank + 1) % job().size; }
int previous() { return (job().rank + job().size - 1) % job().size; }

/// Everyone sends far more than a connection can hold, twice, before it receives.
void ring_of_messages() {
  const ncclComm_t comm = make_communicator();
  const cudaStream_t stream = new_stream();
  constexpr std::size_t kCount = 4 << 20;
  const DeviceBuffer<std::int32_t> first(std::vector<std::int32_t>(kCount, job().rank));
  const DeviceBuffer<std::int32_t> second(std::vector<std::int32_t>(100, 1000 + job().rank));
  const DeviceBuffer<std::int32_t> large(kCount), small(100);
  REQUIRE_NCCL(ncclGroupStart());
  REQUIRE_NCCL(ncclSend(first.get(), kCount, ncclInt32, next(), comm, stream));
  REQUIRE_NCCL(ncclSend(second.get(), 100, ncclInt32, next(), comm, stream));
  REQUIRE_NCCL(ncclRecv(large.get(), kCount, ncclInt32, previous(), comm, stream));
  REQUIRE_NCCL(ncclRecv(small.get(), 100, ncclInt32, previous(), comm, stream));
  REQUIRE_NCCL(ncclGroupEnd());
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  for (const auto value : large.values()) REQUIRE(value == previous());
  for (const auto value : small.values()) REQUIRE(value == 1000 + previous());
}

/// A send waits for its receive, in whatever groups the two are, and does not disturb a collective between
/// them.
void messages_between_collectives() {
  const ncclComm_t comm = make_communicator();
  const cudaStream_t stream = new_stream();
  const DeviceBuffer<float> one(std::vector<float>{1.0F});
  const DeviceBuffer<std::int32_t> mine(std::vector<std::int32_t>{job().rank}), got(1);
  for (int round = 0; round < 20; ++round) {
    REQUIRE_NCCL(ncclGroupStart());
    if (job().rank % 2 == 0) REQUIRE_NCCL(ncclSend(mine.get(), 1, ncclInt32, job().rank + 1, comm, stream));
    REQUIRE_NCCL(ncclAllReduce(one.get(), one.get(), 1, ncclFloat32, ncclMax, comm, stream));
    REQUIRE_NCCL(ncclGroupEnd());
    if (job().rank % 2 == 1) REQUIRE_NCCL(ncclRecv(got.get(), 1, ncclInt32, job().rank - 1, comm, stream));
  }
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  if (job().rank % 2 == 1) REQUIRE(got.values()[0] == job().rank - 1);
}

/// The root of small broadcasts does not wait for its receivers, of a ninth one it does; of a large one, too.
void root_runs_ahead() {
  const ncclComm_t comm = make_communicator();
  const cudaStream_t stream = new_stream();
  constexpr int kAhead = 8, kRounds = 3 * kAhead;
  constexpr std::size_t kLarge = 100'000;
  const DeviceBuffer<std::int32_t> large(std::vector<std::int32_t>(kLarge, job().rank));
  std::vector<std::unique_ptr<DeviceBuffer<std::int32_t>>> values;
  for (int i = 0; i < kRounds; ++i)
    values.push_back(
        std::make_unique<DeviceBuffer<std::int32_t>>(std::vector<std::int32_t>{100 * job().rank + i}));
  const auto broadcast = [&](int round) {
    REQUIRE_NCCL(ncclBroadcast(values[round]->get(), values[round]->get(), 1, ncclInt32, 1, comm, stream));
  };
  if (job().rank == 1) {
    for (int round = 0; round < kAhead; ++round) broadcast(round);
    REQUIRE_CUDA(cudaStreamSynchronize(stream));
    broadcast(kAhead);
    const timespec pause{0, 50'000'000};
    nanosleep(&pause, nullptr);
    REQUIRE(pending(stream));
    leave_note("ahead");
  } else {
    await_note("ahead");
    for (int round = 0; round <= kAhead; ++round) broadcast(round);
  }
  for (int round = kAhead + 1; round < kRounds; ++round) broadcast(round);
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  for (int round = 0; round < kRounds; ++round) REQUIRE(values[round]->values()[0] == 100 + round);
  const DeviceBuffer<std::int32_t> sum(std::vector<std::int32_t>{1});
  REQUIRE_NCCL(ncclAllReduce(sum.get(), sum.get(), 1, ncclInt32, ncclSum, comm, stream));
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  REQUIRE(sum.values()[0] == job().size);
  if (job().rank != 1) await_note("waits");
  REQUIRE_NCCL(ncclBcast(large.get(), kLarge, ncclInt32, 1, comm, stream));
  if (job().rank == 1) {
    REQUIRE(pending(stream));
    leave_note("waits");
  }
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  REQUIRE(large.values()[kLarge - 1] == 1);
}

void messages_to_oneself() {
  const ncclComm_t comm = make_communicator();
  const cudaStream_t stream = new_stream();
  const DeviceBuffer<std::int32_t> from(std::vector<std::int32_t>{42}), to(1);
  REQUIRE(ncclSend(from.get(), 1, ncclInt32, job().rank, comm, stream) == ncclInvalidUsage);
  REQUIRE_NCCL(ncclGroupStart());
  REQUIRE_NCCL(ncclRecv(to.get(), 1, ncclInt32, job().rank, comm, stream));
  REQUIRE_NCCL(ncclSend(from.get(), 1, ncclInt32, job().rank, comm, stream));
  REQUIRE_NCCL(ncclGroupEnd());
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  REQUIRE(to.values()[0] == 42);
}

/// Nothing starts before the outermost end, and nothing at all if a call of the group failed.
void group_starts_at_its_end() {
  const ncclComm_t comm = make_communicator();
  const cudaStream_t stream = new_stream();
  const DeviceBuffer<float> one(std::vector<float>{1.0F});
  const auto all_reduce = [&](int type) {
    return ncclAllReduce(one.get(), one.get(), 1, static_cast<ncclDataType_t>(type), ncclSum, comm, stream);
  };
  REQUIRE(ncclGroupEnd() == ncclInvalidUsage);
  REQUIRE_NCCL(ncclGroupStart());
  REQUIRE_NCCL(ncclGroupStart());
  REQUIRE_NCCL(all_reduce(ncclFloat32));
  REQUIRE_NCCL(ncclGroupEnd());
  await_notes_of_all("inner-end");
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  REQUIRE(one.values()[0] == 1.0F);
  REQUIRE_NCCL(ncclGroupEnd());
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  REQUIRE(one.values()[0] == static_cast<float>(job().size));

  REQUIRE_NCCL(ncclGroupStart());
  REQUIRE_NCCL(all_reduce(ncclFloat32));
  REQUIRE(all_reduce(99) == ncclInvalidArgument);
  REQUIRE(ncclGroupEnd() == ncclInvalidArgument);
  REQUIRE_NCCL(ncclGroupStart());
  REQUIRE_NCCL(all_reduce(ncclFloat32));
  ncclSimInfo_t simulation = NCCL_SIM_INFO_INITIALIZER;
  REQUIRE_NCCL(ncclGroupSimulateEnd(&simulation));
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  REQUIRE(one.values()[0] == static_cast<float>(job().size));
}

/// Holds a stream until it is told to let go.
struct Gate {
  std::atomic<bool> open{false};
  explicit Gate(cudaStream_t stream) {
    REQUIRE_CUDA(cudaLaunchHostFunc(
        stream,
        [](void* gate) { REQUIRE(eventually([&] { return static_cast<Gate*>(gate)->open.load(); })); },
        this));
  }
};

/// On rank 0 the first operation's stream is held while the second's is free: they must not change places.
void two_streams_keep_the_order_of_issue() {
  const ncclComm_t comm = make_communicator();
  const cudaStream_t a = new_stream(), b = new_stream();
  const DeviceBuffer<float> first(std::vector<float>{1.0F}), second(std::vector<float>{10.0F});
  Gate gate(a);
  if (job().rank != 0) gate.open = true;
  REQUIRE_NCCL(ncclAllReduce(first.get(), first.get(), 1, ncclFloat32, ncclSum, comm, a));
  REQUIRE_NCCL(ncclAllReduce(second.get(), second.get(), 1, ncclFloat32, ncclSum, comm, b));
  if (job().rank == 0) {
    const timespec chance{0, 50'000'000};
    nanosleep(&chance, nullptr);
    REQUIRE(pending(b));
    gate.open = true;
  }
  REQUIRE_CUDA(cudaStreamSynchronize(b));
  REQUIRE_CUDA(cudaStreamSynchronize(a));
  REQUIRE(first.values()[0] == static_cast<float>(job().size));
  REQUIRE(second.values()[0] == static_cast<float>(10 * job().size));
}

/// A group over two streams waits for both and holds both.
void group_over_two_streams() {
  const ncclComm_t comm = make_communicator();
  const cudaStream_t a = new_stream(), b = new_stream();
  const DeviceBuffer<float> first(std::vector<float>{1.0F}), second(std::vector<float>{10.0F});
  Gate gate(b);
  REQUIRE_NCCL(ncclGroupStart());
  REQUIRE_NCCL(ncclAllReduce(first.get(), first.get(), 1, ncclFloat32, ncclSum, comm, a));
  REQUIRE_NCCL(ncclAllReduce(second.get(), second.get(), 1, ncclFloat32, ncclSum, comm, b));
  REQUIRE_NCCL(ncclGroupEnd());
  const timespec chance{0, 50'000'000};
  nanosleep(&chance, nullptr);
  REQUIRE(pending(a));
  gate.open = true;
  REQUIRE_CUDA(cudaStreamSynchronize(b));
  REQUIRE(second.values()[0] == static_cast<float>(10 * job().size));
  REQUIRE(first.values()[0] == static_cast<float>(job().size));
}

/// Four ranks in one process, on the default stream of each device.
void all_ranks_in_one_process() {
  ncclComm_t comms[4];
  const int repeated[] = {0, 1, 1, 2}, devices[] = {3, 1, 0, 2};
  REQUIRE(ncclCommInitAll(comms, 4, repeated) == ncclInvalidUsage);
  REQUIRE(ncclCommInitAll(comms, 1000, nullptr) == ncclInvalidArgument);
  REQUIRE_NCCL(ncclCommInitAll(comms, 4, devices));
  const DeviceBuffer<float> values(std::vector<float>{1, 2, 3, 4});
  REQUIRE_NCCL(ncclGroupStart());
  for (int rank = 0; rank < 4; ++rank) {
    int device = -1;
    REQUIRE_NCCL(ncclCommCuDevice(comms[rank], &device));
    REQUIRE(device == devices[rank]);
    float* value = values.get() + rank;
    REQUIRE_NCCL(ncclAllReduce(value, value, 1, ncclFloat32, ncclSum, comms[rank], nullptr));
  }
  REQUIRE_NCCL(ncclGroupEnd());
  for (const int device : devices) {
    REQUIRE_CUDA(cudaSetDevice(device));
    REQUIRE_CUDA(cudaDeviceSynchronize());
  }
  for (const float value : values.values()) REQUIRE(value == 10);
  for (const ncclComm_t comm : comms) REQUIRE_NCCL(ncclCommDestroy(comm));
}

/// All ranks on device 0: refused, or not where NCCL's switches allow it (set by whoever starts this).
void shared_device(bool allowed) {
  REQUIRE_CUDA(cudaSetDevice(0));
  ncclComm_t comm = nullptr;
  const ncclResult_t result = ncclCommInitRank(&comm, job().size, shared_id("id"), job().rank);
  if (!allowed) {
    REQUIRE(result == ncclInvalidUsage && comm == nullptr);
    REQUIRE(last_error_has("Duplicate GPU detected"));
    return;
  }
  REQUIRE(result == ncclSuccess);
  const DeviceBuffer<float> one(std::vector<float>{1.0F});
  REQUIRE_NCCL(ncclAllReduce(one.get(), one.get(), 1, ncclFloat32, ncclSum, comm, nullptr));
  REQUIRE(one.values()[0] == static_cast<float>(job().size));
}
void shared_device_refused() { shared_device(false); }
void shared_device_allowed() { shared_device(true); }

/// STANDIN_LINK=300ms,1GB/s.
void link_model_sets_the_least_duration() {
  const ncclComm_t comm = make_communicator();
  const DeviceBuffer<float> buffer(1 << 20);
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE_NCCL(ncclAllReduce(buffer.get(), buffer.get(), 1 << 20, ncclFloat32, ncclSum, comm, nullptr));
  REQUIRE_CUDA(cudaStreamSynchronize(nullptr));
  // 2 (n-1)/n of 4 MiB at 1 GB/s, n = 2.
  REQUIRE(std::chrono::steady_clock::now() - begin >= std::chrono::microseconds(300'000 + 4194));
  ncclSimInfo_t simulation = NCCL_SIM_INFO_INITIALIZER;
  REQUIRE_NCCL(ncclGroupStart());
  REQUIRE_NCCL(ncclAllReduce(buffer.get(), buffer.get(), 1 << 20, ncclFloat32, ncclSum, comm, nullptr));
  REQUIRE_NCCL(ncclGroupSimulateEnd(&simulation));
  REQUIRE(std::abs(simulation.estimatedTime - 304'194.3F) < 1);
}

/// STANDIN_LINK is not what it should be.
void unreadable_link_model_is_refused() {
  ncclUniqueId id;
  REQUIRE_NCCL(ncclGetUniqueId(&id));
  ncclComm_t comm;
  REQUIRE(ncclCommInitRank(&comm, 1, id, 0) == ncclInvalidArgument);
  REQUIRE(last_error_has("STANDIN_LINK"));
}

void wrong_arguments_are_refused() {
  const ncclComm_t comm = make_communicator();
  const DeviceBuffer<float> b(4);
  const auto all_reduce = [&](const void* in, void* out, ncclDataType_t type, int op, ncclComm_t on) {
    return ncclAllReduce(in, out, 4, type, static_cast<ncclRedOp_t>(op), on, nullptr);
  };
  REQUIRE(all_reduce(b.get(), b.get(), ncclFloat32, ncclSum, nullptr) == ncclInvalidArgument);
  REQUIRE(all_reduce(b.get(), b.get(), ncclNumTypes, ncclSum, comm) == ncclInvalidArgument);
  REQUIRE(all_reduce(b.get(), b.get(), ncclFloat32, ncclNumOps, comm) == ncclInvalidArgument);
  REQUIRE(all_reduce(nullptr, b.get(), ncclFloat32, ncclSum, comm) == ncclInvalidArgument);
  REQUIRE(ncclBroadcast(b.get(), b.get(), 4, ncclFloat32, -1, comm, nullptr) == ncclInvalidArgument);
  REQUIRE(ncclBcast(b.get(), 4, ncclFloat32, job().size, comm, nullptr) == ncclInvalidArgument);
  REQUIRE(ncclSend(b.get(), 4, ncclFloat32, job().size, comm, nullptr) == ncclInvalidArgument);
  REQUIRE_NCCL(
      ncclAllReduce(nullptr, nullptr, 0, ncclFloat32, ncclSum, comm, nullptr));  // empty: nothing to do
  ncclUniqueId foreign{};
  ncclComm_t other = comm;
  REQUIRE(ncclCommInitRank(&other, 1, foreign, 0) == ncclInvalidArgument && other == nullptr);
  REQUIRE(ncclCommInitRank(&other, 2, shared_id("id"), 2) == ncclInvalidArgument);
  ncclConfig_t config{};
  REQUIRE(ncclCommInitRankConfig(&other, 1, foreign, 0, &config) == ncclInvalidArgument);
  int version = 0;
  REQUIRE_NCCL(ncclGetVersion(&version));
  REQUIRE(version == 22809);
}

void what_is_not_provided_says_so() {
  const ncclComm_t comm = make_communicator();
  for (int i = 0; i < 3; ++i) REQUIRE(ncclDevCommCreate(comm, nullptr, nullptr) == ncclInvalidUsage);
}

void buffers_are_registered() {
  const ncclComm_t comm = make_communicator();
  const DeviceBuffer<float> b(4);
  void* handle = nullptr;
  ncclWindow_t window = nullptr;
  REQUIRE_NCCL(ncclCommRegister(comm, b.get(), 16, &handle));
  REQUIRE_NCCL(ncclCommWindowRegister(comm, b.get(), 16, &window, NCCL_WIN_COLL_SYMMETRIC));
  REQUIRE(handle && window);
  REQUIRE(ncclCommWindowRegister(comm, b.get(), 0, &window, NCCL_WIN_DEFAULT) == ncclInvalidArgument);
  REQUIRE_NCCL(ncclCommWindowDeregister(comm, window));
  REQUIRE_NCCL(ncclCommDeregister(comm, handle));
}

/// A communicator that several ids make, a registered buffer, and a reduction with a factor.
void averages_on_several_ids() {
  REQUIRE_CUDA(cudaSetDevice(job().rank));
  ncclUniqueId ids[] = {shared_id("first"), shared_id("second", 1)};
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclComm_t comm = nullptr;
  REQUIRE_NCCL(ncclCommInitRankScalable(&comm, job().size, job().rank, 2, ids, &config));
  const DeviceBuffer<float> value(std::vector<float>{static_cast<float>(job().rank)});
  void* handle = nullptr;
  REQUIRE_NCCL(ncclCommRegister(comm, value.get(), sizeof(float), &handle));
  float share = 1.0F / static_cast<float>(job().size);
  ncclRedOp_t average;
  REQUIRE_NCCL(ncclRedOpCreatePreMulSum(&average, &share, ncclFloat32, ncclScalarHostImmediate, comm));
  const cudaStream_t stream = new_stream();
  REQUIRE_NCCL(ncclAllReduce(value.get(), value.get(), 1, ncclFloat32, average, comm, stream));
  REQUIRE_NCCL(ncclRedOpDestroy(average, comm));
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  REQUIRE(std::abs(value.values()[0] - static_cast<float>(job().size - 1) / 2) < 1e-5F);
  REQUIRE_NCCL(ncclCommDeregister(comm, handle));
  REQUIRE_NCCL(ncclCommDestroy(comm));
}

ncclConfig_t non_blocking() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return config;
}

ncclResult_t state_of(ncclComm_t comm) {
  ncclResult_t state = ncclNumResults;
  REQUIRE_NCCL(ncclCommGetAsyncError(comm, &state));
  return state;
}

/// Creation goes on while the caller asks how far it is; until then nothing else can be asked.
void creation_need_not_block() {
  REQUIRE_CUDA(cudaSetDevice(job().rank));
  const ncclUniqueId id = shared_id("id");
  ncclConfig_t config = non_blocking();
  ncclComm_t comm = nullptr, half = nullptr;
  if (job().rank == 1) await_note("asked");
  REQUIRE(ncclCommInitRankConfig(&comm, job().size, id, job().rank, &config) == ncclInProgress);
  if (job().rank == 0) {
    int count = 0;
    REQUIRE(comm && state_of(comm) == ncclInProgress);
    REQUIRE(ncclCommCount(comm, &count) == ncclInvalidArgument);
    leave_note("asked");
  }
  REQUIRE(eventually([&] { return state_of(comm) != ncclInProgress; }));
  REQUIRE(state_of(comm) == ncclSuccess);
  REQUIRE(ncclCommSplit(comm, 0, job().rank, &half, &config) == ncclInProgress);
  REQUIRE(eventually([&] { return state_of(half) == ncclSuccess; }));
  const cudaStream_t stream = new_stream();
  const DeviceBuffer<float> values(std::vector<float>{1.0F});
  for (const ncclComm_t one : {comm, half})
    REQUIRE_NCCL(ncclAllReduce(values.get(), values.get(), 1, ncclFloat32, ncclSum, one, stream));
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  REQUIRE(values.values()[0] == static_cast<float>(job().size * job().size));
  REQUIRE_NCCL(ncclCommDestroy(half));
  REQUIRE_NCCL(ncclCommDestroy(comm));
}

/// As above in a group, whose end says that it goes on; one of the communicators is given up meanwhile.
void creations_of_a_group_need_not_block() {
  REQUIRE_CUDA(cudaSetDevice(job().rank));
  const ncclUniqueId id = shared_id("id");
  ncclUniqueId lonely;
  REQUIRE_NCCL(ncclGetUniqueId(&lonely));
  ncclConfig_t config = non_blocking();
  ncclComm_t comm = nullptr, never = nullptr;
  REQUIRE_NCCL(ncclGroupStart());
  REQUIRE_NCCL(ncclCommInitRankConfig(&comm, job().size, id, job().rank, &config));
  REQUIRE_NCCL(ncclCommInitRankConfig(&never, 2, lonely, 0, &config));
  REQUIRE(ncclGroupEnd() == ncclInProgress);
  REQUIRE(eventually([&] { return state_of(comm) == ncclSuccess; }));
  REQUIRE(state_of(never) == ncclInProgress);
  REQUIRE_NCCL(ncclCommAbort(never));
  REQUIRE_NCCL(ncclCommDestroy(comm));
}

/// The root of a communicator waits in a thread of the program: it must leave the program's signals alone.
void threads_block_signals() {
  ncclUniqueId id;
  REQUIRE_NCCL(ncclGetUniqueId(&id));
  const auto others = other_tasks();
  REQUIRE(others.size() == 1);
  // Until it sleeps it may be on its way into its body, where the C library blocks signals by itself.
  REQUIRE(eventually([&] { return task_status(others[0], "State").starts_with("S"); }));
  const auto blocked = std::stoull(task_status(others[0], "SigBlk"), nullptr, 16);
  for (const int signal : {SIGINT, SIGTERM, SIGCHLD, SIGUSR1, SIGPROF}) REQUIRE(blocked >> (signal - 1) & 1);
}

}  // namespace

int main(int argc, char** argv) {
  return run_scenario(argc, argv,
                      {{"ring-of-messages", ring_of_messages},
                       {"messages-between-collectives", messages_between_collectives},
                       {"root-runs-ahead", root_runs_ahead},
                       {"messages-to-oneself", messages_to_oneself},
                       {"group-starts-at-its-end", group_starts_at_its_end},
                       {"two-streams-keep-the-order-of-issue", two_streams_keep_the_order_of_issue},
                       {"group-over-two-streams", group_over_two_streams},
                       {"all-ranks-in-one-process", all_ranks_in_one_process},
                       {"shared-device-refused", shared_device_refused},
                       {"shared-device-allowed", shared_device_allowed},
                       {"link-model-sets-the-least-duration", link_model_sets_the_least_duration},
                       {"unreadable-link-model-is-refused", unreadable_link_model_is_refused},
                       {"wrong-arguments-are-refused", wrong_arguments_are_refused},
                       {"what-is-not-provided-says-so", what_is_not_provided_says_so},
                       {"buffers-are-registered", buffers_are_registered},
                       {"averages-on-several-ids", averages_on_several_ids},
                       {"creation-need-not-block", creation_need_not_block},
                       {"creations-of-a-group-need-not-block", creations_of_a_group_need_not_block},
                       {"threads-block-signals", threads_block_signals}});
}
