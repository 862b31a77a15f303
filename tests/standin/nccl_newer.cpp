// What came after NCCL 2.28: communicators that grow and rest, one-sided data, collectives with settings.
#include <nccl_newer.h>

#include <numeric>

#include "nccl_rank.h"

namespace {

constexpr int kSuspendMemory = 1;  // NCCL_SUSPEND_MEM
using Floats = DeviceBuffer<float>;

cudaStream_t new_stream() {
  cudaStream_t stream;
  REQUIRE_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

float sum_of_ranks(ncclComm_t comm, cudaStream_t stream) {
  const Floats value(std::vector<float>(1, static_cast<float>(job().rank)));
  REQUIRE_NCCL(ncclAllReduce(value.get(), value.get(), 1, ncclFloat32, ncclSum, comm, stream));
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  return value.values()[0];
}

/// All but the last rank, each on the device of its number.
ncclComm_t all_but_the_last() {
  ncclComm_t comm = nullptr;
  if (job().rank == job().size - 1) return comm;
  const ncclUniqueId id = shared_id("first");
  REQUIRE_CUDA(cudaSetDevice(job().rank));
  REQUIRE_NCCL(ncclCommInitRank(&comm, job().size - 1, id, job().rank));
  return comm;
}

void grows() {
  const ncclComm_t parent = all_but_the_last();
  const int last = job().size - 1;
  REQUIRE_CUDA(cudaSetDevice(job().rank));
  const ncclUniqueId id = passed_on("grown", 0, [&] {
    ncclUniqueId made;
    REQUIRE_NCCL(ncclCommGetUniqueId(parent, &made));
    return made;
  });
  ncclComm_t comm = nullptr;
  const bool joins = job().rank == last;
  REQUIRE_NCCL(ncclCommGrow(parent, job().size, joins || job().rank == 0 ? &id : nullptr, joins ? last : -1,
                            &comm, nullptr));
  int rank = -1, size = 0;
  REQUIRE_NCCL(ncclCommUserRank(comm, &rank));
  REQUIRE_NCCL(ncclCommCount(comm, &size));
  REQUIRE(rank == job().rank && size == job().size);
  if (parent) REQUIRE_NCCL(ncclCommDestroy(parent));
  const cudaStream_t stream = new_stream();
  REQUIRE(sum_of_ranks(comm, stream) == static_cast<float>(last * (last + 1) / 2));
  REQUIRE_NCCL(ncclCommDestroy(comm));
}

void grows_wrongly() {
  const ncclComm_t comm = make_communicator();
  ncclComm_t grown = nullptr;
  REQUIRE(ncclCommGrow(comm, job().size, nullptr, -1, &grown, nullptr) == ncclInvalidArgument);
  REQUIRE(ncclCommGrow(comm, job().size + 1, nullptr, 0, &grown, nullptr) == ncclInvalidArgument);
  REQUIRE(ncclCommGrow(nullptr, job().size + 1, nullptr, job().size, &grown, nullptr) == ncclInvalidArgument);
  // Nobody has made an id: nobody could join.
  REQUIRE(ncclCommGrow(comm, job().size + 1, nullptr, -1, &grown, nullptr) == ncclInvalidUsage);
  ncclUniqueId id;
  REQUIRE_NCCL(ncclCommGetUniqueId(comm, &id));
  REQUIRE(ncclCommGetUniqueId(comm, &id) == ncclInvalidUsage);  // the first one is not used yet
  REQUIRE_NCCL(ncclCommDestroy(comm));
}

void rests() {
  const ncclComm_t comm = make_communicator();
  const cudaStream_t stream = new_stream();
  const float sum = sum_of_ranks(comm, stream);
  std::uint64_t suspended = 7;
  REQUIRE(ncclCommSuspend(comm, 0) == ncclInvalidArgument);
  REQUIRE(ncclCommResume(comm) == ncclInvalidUsage);
  REQUIRE_NCCL(ncclCommSuspend(comm, kSuspendMemory));
  REQUIRE(ncclCommSuspend(comm, kSuspendMemory) == ncclInvalidUsage);
  REQUIRE_NCCL(ncclCommMemStats(comm, 1, &suspended));
  REQUIRE(suspended == 1);
  const Floats value(std::vector<float>(1, 1.0F));
  REQUIRE(ncclAllReduce(value.get(), value.get(), 1, ncclFloat32, ncclSum, comm, stream) == ncclInvalidUsage);
  REQUIRE_NCCL(ncclCommResume(comm));
  REQUIRE_NCCL(ncclCommMemStats(comm, 1, &suspended));
  REQUIRE(suspended == 0 && ncclCommMemStats(comm, 4, &suspended) == ncclInvalidArgument);
  REQUIRE(sum_of_ranks(comm, stream) == sum);
  REQUIRE_NCCL(ncclCommDestroy(comm));
}

/// A window of as many blocks as there are ranks, and one to put from.
struct Windows {
  static constexpr std::size_t kBlock = 300'000;  // larger than what sockets buffer

  explicit Windows(ncclComm_t comm)
      : into(std::vector<float>(kBlock * static_cast<std::size_t>(job().size), -1.0F)),
        from(std::vector<float>(kBlock)) {
    // Of several in a group all ranks get the same one for the same buffer.
    REQUIRE_NCCL(ncclGroupStart());
    REQUIRE_NCCL(
        ncclCommWindowRegister(comm, into.get(), bytes(into_count()), &into_window, NCCL_WIN_COLL_SYMMETRIC));
    REQUIRE_NCCL(
        ncclCommWindowRegister(comm, from.get(), bytes(kBlock), &from_window, NCCL_WIN_COLL_SYMMETRIC));
    REQUIRE_NCCL(ncclGroupEnd());
  }
  static std::size_t bytes(std::size_t count) { return count * sizeof(float); }
  static std::size_t into_count() { return kBlock * static_cast<std::size_t>(job().size); }
  static std::size_t block_of(int rank) { return bytes(kBlock) * static_cast<std::size_t>(rank); }

  Floats into, from;
  ncclWindow_t into_window = nullptr, from_window = nullptr;
};

ncclResult_t put(const Windows& windows, int peer, ncclComm_t comm, cudaStream_t stream) {
  return ncclPutSignal(windows.from.get(), Windows::kBlock, ncclFloat32, peer, windows.into_window,
                       Windows::block_of(job().rank), 0, 0, 0, comm, stream);
}

ncclResult_t await_one_from_each(ncclComm_t comm, cudaStream_t stream) {
  std::vector<ncclWaitSignalDesc_t> signals;
  for (int peer = 0; peer < job().size; ++peer) signals.push_back({1, peer, 0, 0});
  return ncclWaitSignal(job().size, signals.data(), comm, stream);
}

/// Everybody puts to everybody, itself included, in order with what the stream does before and behind.
void puts() {
  const ncclComm_t comm = make_communicator();
  const cudaStream_t stream = new_stream();
  Windows windows(comm);
  for (int round = 1; round <= 3; ++round) {
    const std::vector<float> mine(Windows::kBlock, static_cast<float>(100 * round + job().rank));
    REQUIRE_CUDA(cudaMemcpyAsync(windows.from.get(), mine.data(), Windows::bytes(mine.size()),
                                 cudaMemcpyHostToDevice, stream));
    for (int peer = 0; peer < job().size; ++peer) REQUIRE_NCCL(put(windows, peer, comm, stream));
    REQUIRE_NCCL(await_one_from_each(comm, stream));
    REQUIRE_CUDA(cudaStreamSynchronize(stream));
    const auto all = windows.into.values();
    for (int peer = 0; peer < job().size; ++peer) {
      const float expected = static_cast<float>(100 * round + peer);
      const std::size_t first = Windows::kBlock * static_cast<std::size_t>(peer);
      REQUIRE(all[first] == expected && all[first + Windows::kBlock - 1] == expected);
    }
    sum_of_ranks(comm, stream);  // nobody puts into what a peer still looks at
  }
  REQUIRE_NCCL(ncclCommDestroy(comm));
}

/// Signals to all and a wait for all are a barrier.
void signals() {
  const ncclComm_t comm = make_communicator();
  const cudaStream_t stream = new_stream();
  if (job().rank > 0) await_note("waited");
  REQUIRE_NCCL(ncclGroupStart());
  for (int peer = 0; peer < job().size; ++peer) REQUIRE_NCCL(ncclSignal(peer, 0, 0, 0, comm, stream));
  REQUIRE_NCCL(await_one_from_each(comm, stream));
  REQUIRE_NCCL(ncclGroupEnd());
  if (job().rank == 0) {
    const timespec while_it_waits{0, 30'000'000};
    nanosleep(&while_it_waits, nullptr);
    REQUIRE(pending(stream));
    leave_note("waited");
  }
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  REQUIRE_NCCL(ncclCommDestroy(comm));
}

void puts_wrongly() {
  const ncclComm_t comm = make_communicator();
  const cudaStream_t stream = new_stream();
  Windows windows(comm);
  const Floats stranger(10);
  const auto refused = [&](const void* from, std::size_t count, int peer, ncclWindow_t window,
                           std::size_t offset, int signal, unsigned flags) {
    return ncclPutSignal(from, count, ncclFloat32, peer, window, offset, signal, 0, flags, comm, stream) ==
           ncclInvalidArgument;
  };
  const float* const from = windows.from.get();
  const ncclWindow_t into = windows.into_window;
  REQUIRE(refused(stranger.get(), 10, 0, into, 0, 0, 0));
  REQUIRE(refused(from, Windows::kBlock + 1, 0, into, 0, 0, 0));
  REQUIRE(refused(from, 10, job().size, into, 0, 0, 0));
  REQUIRE(refused(from, 10, -1, into, 0, 0, 0));
  REQUIRE(refused(from, 10, 0, nullptr, 0, 0, 0));
  REQUIRE(refused(from, 10, 0, into, Windows::bytes(Windows::into_count()) - 39, 0, 0));
  REQUIRE(refused(from, 10, 0, into, 0, 1, 0));
  REQUIRE(refused(from, 10, 0, into, 0, 0, 1));
  REQUIRE(refused(nullptr, 10, 0, into, 0, 0, 0));
  ncclWaitSignalDesc_t nobody{1, job().size, 0, 0}, nothing{0, 0, 0, 0};
  REQUIRE(ncclWaitSignal(1, &nobody, comm, stream) == ncclInvalidArgument);
  REQUIRE(ncclWaitSignal(1, &nothing, comm, stream) == ncclInvalidArgument);
  REQUIRE(ncclWaitSignal(0, &nothing, comm, stream) == ncclInvalidArgument);
  void* user = nullptr;
  REQUIRE_NCCL(ncclWinGetUserPtr(comm, windows.from_window, &user));
  REQUIRE(user == from);
  REQUIRE_NCCL(ncclCommWindowDeregister(comm, windows.from_window));
  REQUIRE(ncclWinGetUserPtr(comm, windows.from_window, &user) == ncclInvalidArgument);
  REQUIRE(refused(from, 10, 0, into, 0, 0, 0));
  REQUIRE_NCCL(ncclCommDestroy(comm));
}

/// Who never gets a signal hangs in it, until it gives the communicator up.
void waits_in_vain() {
  const ncclComm_t comm = make_communicator();
  const cudaStream_t stream = new_stream();
  REQUIRE_NCCL(await_one_from_each(comm, stream));
  const timespec while_it_waits{0, 30'000'000};
  nanosleep(&while_it_waits, nullptr);
  REQUIRE(pending(stream));
  await_notes_of_all("waited");
  REQUIRE_NCCL(ncclCommAbort(comm));
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
}

void collectives_with_settings() {
  const ncclComm_t comm = make_communicator();
  const cudaStream_t stream = new_stream();
  const auto size = static_cast<std::size_t>(job().size);
  const Floats one(std::vector<float>(1, static_cast<float>(job().rank + 1))), all(size), mine(1);
  REQUIRE_NCCL(ncclAllGatherConfig(one.get(), all.get(), 1, ncclFloat32, comm, stream, nullptr));
  REQUIRE_NCCL(
      ncclReduceScatterConfig(all.get(), mine.get(), 1, ncclFloat32, ncclSum, comm, stream, nullptr));
  REQUIRE_NCCL(ncclAllReduceConfig(one.get(), one.get(), 1, ncclFloat32, ncclMax, comm, stream, nullptr));
  REQUIRE_NCCL(ncclBroadcastConfig(all.get(), all.get(), 1, ncclFloat32, 0, comm, stream, nullptr));
  REQUIRE_NCCL(ncclReduceConfig(mine.get(), mine.get(), 1, ncclFloat32, ncclMin, 0, comm, stream, nullptr));
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  REQUIRE(one.values()[0] == static_cast<float>(size));
  REQUIRE(all.values()[size - 1] == static_cast<float>(size));
  if (job().rank == 0) REQUIRE(mine.values()[0] == static_cast<float>(size));
  const Floats sent(all.values()), got(size);
  REQUIRE_NCCL(ncclAlltoAllConfig(sent.get(), got.get(), 1, ncclFloat32, comm, stream, nullptr));
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  for (const float value : got.values()) REQUIRE(value == static_cast<float>(job().rank + 1));
  REQUIRE_NCCL(ncclGatherConfig(one.get(), got.get(), 1, ncclFloat32, 0, comm, stream, nullptr));
  REQUIRE_NCCL(ncclScatterConfig(sent.get(), one.get(), 1, ncclFloat32, 0, comm, stream, nullptr));
  REQUIRE_CUDA(cudaStreamSynchronize(stream));
  REQUIRE(one.values()[0] == static_cast<float>(job().rank + 1));
  REQUIRE_NCCL(ncclCommDestroy(comm));
}

void parameters() {
  REQUIRE(setenv("NCCL_NVTX_DISABLE", "1", 1) == 0 && setenv("NCCL_HOSTID", "here", 1) == 0);
  ncclParamHandle_t number = nullptr, text = nullptr;
  REQUIRE_NCCL(ncclParamBind(&number, "NCCL_NVTX_DISABLE"));
  REQUIRE_NCCL(ncclParamBind(&text, "NCCL_HOSTID"));
  REQUIRE(ncclParamBind(&text, "NCCL_NO_SUCH_THING") == ncclInvalidArgument);
  std::int64_t wide = 0;
  std::int32_t narrow = 0;
  REQUIRE_NCCL(ncclParamGetI64(number, &wide));
  REQUIRE(wide == 1 && ncclParamGetI32(number, &narrow) == ncclInvalidArgument);
  REQUIRE(ncclParamGetI64(text, &wide) == ncclInvalidArgument);
  const char *by_handle = nullptr, *by_key = nullptr, **keys = nullptr;
  int length = 0, count = 0;
  REQUIRE_NCCL(ncclParamGetStr(text, &by_handle));
  REQUIRE_NCCL(ncclParamGetParameter("NCCL_NVTX_DISABLE", &by_key, &length));
  REQUIRE(std::string(by_handle) == "here" && std::string(by_key) == "1" && length == 1);
  char room[8];
  REQUIRE_NCCL(ncclParamGet(text, room, sizeof room, &length));
  REQUIRE(std::string(room) == "here" && length == 5);
  REQUIRE(ncclParamGet(text, room, 4, &length) == ncclInvalidArgument);
  REQUIRE_NCCL(ncclParamGetAllParameterKeys(&keys, &count));
  for (int i = 0; i < count; ++i) REQUIRE_NCCL(ncclParamBind(&text, keys[i]));
  ncclParamDumpAll();
}

constexpr unsigned kApiMagic = 0xcafebeef;

/// Versions of the structure differ in length: nothing is written behind what the caller has.
void properties() {
  const ncclComm_t comm = make_communicator();
  ncclCommProperties_t all{};
  REQUIRE(ncclCommQueryProperties(comm, &all) == ncclInvalidArgument);
  all.size = sizeof all;
  all.magic = kApiMagic;
  REQUIRE_NCCL(ncclCommQueryProperties(comm, &all));
  REQUIRE(all.rank == job().rank && all.nRanks == job().size && all.cudaDev == job().rank);
  REQUIRE(!all.deviceApiSupport && !all.multimemSupport && all.commHash != 0);
  ncclCommProperties_t early{};
  early.size = offsetof(ncclCommProperties_t, commHash);
  early.magic = kApiMagic;
  REQUIRE_NCCL(ncclCommQueryProperties(comm, &early));
  REQUIRE(early.nRanks == job().size && early.commHash == 0 &&
          early.size == offsetof(ncclCommProperties_t, commHash));
  REQUIRE_NCCL(ncclCommDestroy(comm));
}

void encryption() {
  ncclEncryptionConfig_t config{sizeof config, kApiMagic, 0, 0, nullptr};
  REQUIRE_NCCL(ncclSetEncryption(&config));
  config.mode = 1;
  config.psk = "key";
  REQUIRE(ncclSetEncryption(&config) == ncclInvalidUsage);
}

extern "C" ncclResult_t ncclGetPeerDevicePointer(ncclWindow_t, size_t, int, void**);
extern "C" ncclResult_t ncclGetLsaMultimemDevicePointer(ncclWindow_t, size_t, void**);

void peers_memory_is_refused() {
  void* pointer = nullptr;
  REQUIRE(ncclGetPeerDevicePointer(nullptr, 0, 0, &pointer) == ncclInvalidUsage && !pointer);
  REQUIRE(ncclGetLsaMultimemDevicePointer(nullptr, 0, &pointer) == ncclInvalidUsage && !pointer);
}

}  // namespace

int main(int argc, char** argv) {
  return run_scenario(argc, argv,
                      {{"grows", grows},
                       {"grows-wrongly", grows_wrongly},
                       {"rests", rests},
                       {"puts", puts},
                       {"signals", signals},
                       {"puts-wrongly", puts_wrongly},
                       {"waits-in-vain", waits_in_vain},
                       {"settings", collectives_with_settings},
                       {"parameters", parameters},
                       {"properties", properties},
                       {"encryption", encryption},
                       {"peers-memory", peers_memory_is_refused}});
}
