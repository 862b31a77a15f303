// How operations and communicators end when a rank dies, leaves, forks or gives up.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "nccl_rank.h"

namespace {

/// cudaFree waits for the device, here as on a GPU: a scenario that leaves an operation hanging must leak its
/// Rank.
struct Rank {
  ncclComm_t comm = make_communicator();
  cudaStream_t stream = new_stream();
  DeviceBuffer<float> buffer{std::vector<float>(300'000, 1.0F)};

  static cudaStream_t new_stream() {
    cudaStream_t stream;
    REQUIRE_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
  }
  ncclResult_t all_reduce(std::size_t count = 100) { return all_reduce_on(comm, count); }
  ncclResult_t all_reduce_on(ncclComm_t other, std::size_t count = 100) {
    return ncclAllReduce(buffer.get(), buffer.get(), count, ncclFloat32, ncclSum, other, stream);
  }
  bool remote_error() const {
    ncclResult_t error;
    REQUIRE_NCCL(ncclCommGetAsyncError(comm, &error));
    return error == ncclRemoteError;
  }
};

bool last() { return job().rank == job().size - 1; }

/// Rank 0 sees that the last one is gone, the others see that rank 0 gave up, although it lives on; nobody's
/// operation completes.
void peer_dies() {
  Rank rank;
  await_notes_of_all("connected");
  if (last()) raise(SIGKILL);
  REQUIRE_NCCL(rank.all_reduce());
  REQUIRE(eventually([&] { return rank.remote_error(); }));
  REQUIRE(pending(rank.stream));
  REQUIRE(rank.all_reduce() == ncclRemoteError);
  REQUIRE_NCCL(ncclCommAbort(rank.comm));
  REQUIRE_CUDA(cudaStreamSynchronize(rank.stream));
  leave_note("noticed by " + std::to_string(job().rank));
  for (int other = 0; other < job().size - 1; ++other) await_note("noticed by " + std::to_string(other));
}

/// A living child of a dead rank (a data loader's worker, say) must not keep its connections open.
void peer_dies_with_a_living_child() {
  Rank rank;
  await_notes_of_all("connected");
  if (last()) {
    if (fork() == 0) {
      await_note("noticed");
      _exit(0);
    }
    raise(SIGKILL);
  }
  REQUIRE_NCCL(rank.all_reduce());
  const bool noticed = eventually([&] { return rank.remote_error(); });
  leave_note("noticed");
  REQUIRE(noticed);
  REQUIRE_NCCL(ncclCommAbort(rank.comm));
}

void fork_and_go_on() {
  Rank rank;
  REQUIRE_NCCL(rank.all_reduce());
  REQUIRE_CUDA(cudaStreamSynchronize(rank.stream));
  const pid_t child = fork();
  if (child == 0) {
    const bool refused = rank.all_reduce() == ncclUnhandledCudaError && last_error_has("forked child");
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  REQUIRE_NCCL(rank.all_reduce());
  REQUIRE_CUDA(cudaStreamSynchronize(rank.stream));
  REQUIRE(rank.buffer.values()[0] == static_cast<float>(job().size * job().size));
}

/// Leaves main while rank 0 is in an operation that nobody joins.
void exit_with_pending_operation() {
  Rank& rank = *new Rank;
  if (job().rank == 0) {
    REQUIRE_NCCL(rank.all_reduce());
    REQUIRE(pending(rank.stream));
  }
  await_notes_of_all("enqueued");
}

/// Leaves main as soon as the own part is done, with more on its way than a connection holds, and destroys
/// nothing.
void exit_after_last_operation() {
  Rank rank;
  constexpr std::size_t kCount = 8 << 20;
  const DeviceBuffer<float> large(std::vector<float>(kCount, static_cast<float>(job().rank)));
  const int root = job().size - 1;
  REQUIRE_NCCL(ncclBroadcast(large.get(), large.get(), kCount, ncclFloat32, root, rank.comm, rank.stream));
  REQUIRE_CUDA(cudaStreamSynchronize(rank.stream));
  if (job().rank == root) _exit(0);
  for (const float value : large.values()) REQUIRE(value == static_cast<float>(root));
}

/// What the root of small broadcasts sent is there when the others come, though it has left.
void root_leaves_before_the_others_come() {
  Rank rank;
  DeviceBuffer<float> first(std::vector<float>{static_cast<float>(job().rank)}), second(1);
  const int root = job().size - 1;
  const auto broadcast = [&](DeviceBuffer<float>& value) {
    REQUIRE_NCCL(ncclBroadcast(first.get(), value.get(), 1, ncclFloat32, root, rank.comm, rank.stream));
  };
  if (job().rank == root) {
    broadcast(first);
    broadcast(second);
    REQUIRE_CUDA(cudaStreamSynchronize(rank.stream));
    leave_note("leaves");
    _exit(0);
  }
  await_note("leaves");
  const timespec until_it_has_left{0, 100'000'000};
  nanosleep(&until_it_has_left, nullptr);
  broadcast(first);
  broadcast(second);
  REQUIRE_CUDA(cudaStreamSynchronize(rank.stream));
  REQUIRE(first.values()[0] == static_cast<float>(root) && second.values()[0] == static_cast<float>(root));
}

void revoke_releases_and_refuses() {
  Rank rank;
  if (!last()) {
    REQUIRE_NCCL(rank.all_reduce());
    REQUIRE(pending(rank.stream));
    REQUIRE_NCCL(ncclCommRevoke(rank.comm, NCCL_REVOKE_DEFAULT));
    REQUIRE_CUDA(cudaStreamSynchronize(rank.stream));
    REQUIRE(rank.all_reduce() == ncclInvalidUsage);
  }
  await_notes_of_all("revoked");
  REQUIRE_NCCL(ncclCommDestroy(rank.comm));
}

/// The peers must learn of an abort although a stream still holds an operation that it has not come to.
void abort_with_an_operation_queued() {
  Rank& rank = *new Rank;
  static std::atomic<bool> open{false};
  if (last()) {
    REQUIRE_CUDA(cudaLaunchHostFunc(
        rank.stream, [](void*) { REQUIRE(eventually([] { return open.load(); })); }, nullptr));
    REQUIRE_NCCL(rank.all_reduce());
    REQUIRE_NCCL(ncclCommAbort(rank.comm));
  } else {
    REQUIRE_NCCL(rank.all_reduce());
    REQUIRE(eventually([&] { return rank.remote_error(); }));
  }
  await_notes_of_all("noticed");
  open = true;
  if (last()) REQUIRE_CUDA(cudaStreamSynchronize(rank.stream));
}

/// Who aborts may want to end the process, as PyTorch's watchdog does: no other thread's wait is over before
/// it has done so, or uses the device again.
void aborter_comes_before_who_waits() {
  Rank& rank = *new Rank;
  if (!last()) {
    REQUIRE_NCCL(rank.all_reduce());
    REQUIRE(pending(rank.stream));
    static std::atomic<bool> over{false};
    std::thread waits([&] {
      REQUIRE_CUDA(cudaStreamSynchronize(rank.stream));
      over = true;
    });
    cudaEvent_t end = nullptr;
    REQUIRE_CUDA(cudaEventCreate(&end));
    REQUIRE_CUDA(cudaEventRecord(end, rank.stream));
    REQUIRE_NCCL(ncclCommAbort(rank.comm));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    REQUIRE(!over);
    REQUIRE(cudaEventQuery(end) == cudaErrorNotReady);
    REQUIRE_CUDA(cudaFree(nullptr));
    REQUIRE_CUDA(cudaStreamSynchronize(rank.stream));
    waits.join();
  }
  await_notes_of_all("aborted");
}

/// The last rank is dead and an operation hangs on it: the others go on without it.
void shrink_around_a_dead_rank() {
  Rank rank;
  await_notes_of_all("connected");
  if (last()) raise(SIGKILL);
  REQUIRE_NCCL(rank.all_reduce());
  int excluded = job().size - 1, count = 0;
  ncclComm_t smaller;
  REQUIRE_NCCL(ncclCommShrink(rank.comm, &excluded, 1, &smaller, nullptr, NCCL_SHRINK_ABORT));
  REQUIRE_NCCL(ncclCommCount(smaller, &count));
  REQUIRE(count == job().size - 1);
  const DeviceBuffer<float> one(std::vector<float>{1.0F});
  REQUIRE_NCCL(ncclAllReduce(one.get(), one.get(), 1, ncclFloat32, ncclSum, smaller, rank.stream));
  REQUIRE_CUDA(cudaStreamSynchronize(rank.stream));
  REQUIRE(one.values()[0] == static_cast<float>(count));
  REQUIRE_NCCL(ncclCommAbort(rank.comm));
  REQUIRE_NCCL(ncclCommDestroy(smaller));
}

/// The first rank splits off nothing and is gone before the others use what they split off.
void split_and_rank_0_leaves() {
  Rank rank;
  ncclComm_t child = rank.comm;
  // Keys against the ranks' order: the last rank becomes the first.
  const bool joins = job().rank != 0;
  REQUIRE_NCCL(ncclCommSplit(rank.comm, joins ? 7 : NCCL_SPLIT_NOCOLOR, -job().rank, &child, nullptr));
  if (!joins) {
    REQUIRE(child == nullptr);
    _exit(0);
  }
  int child_rank = -1, count = 0;
  REQUIRE_NCCL(ncclCommUserRank(child, &child_rank));
  REQUIRE_NCCL(ncclCommCount(child, &count));
  REQUIRE(count == job().size - 1 && child_rank == count - job().rank);
  REQUIRE_NCCL(rank.all_reduce_on(child));
  ncclComm_t grandchild;
  REQUIRE_NCCL(ncclCommSplit(child, job().rank % 2, 0, &grandchild, nullptr));
  REQUIRE_NCCL(rank.all_reduce_on(grandchild));
  REQUIRE_CUDA(cudaStreamSynchronize(rank.stream));
  int grandcount = 0;
  REQUIRE_NCCL(ncclCommCount(grandchild, &grandcount));
  REQUIRE(rank.buffer.values()[0] == static_cast<float>(count * grandcount));
  REQUIRE_NCCL(ncclCommDestroy(grandchild));
  REQUIRE_NCCL(ncclCommDestroy(child));
  REQUIRE_NCCL(ncclCommDestroy(rank.comm));
}

/// The id is the last rank's, who has nothing to wait for and leaves at once.
void maker_of_the_id_leaves() {
  REQUIRE_CUDA(cudaSetDevice(job().rank));
  ncclComm_t comm;
  const bool maker = last();
  REQUIRE_NCCL(ncclCommInitRank(&comm, job().size, shared_id("id", job().size - 1), job().rank));
  if (maker) _exit(0);
  REQUIRE_NCCL(ncclCommDestroy(comm));
}

/// A split works while an operation of the parent hangs: the two do not share connections.
void split_beside_a_hanging_operation() {
  Rank rank;
  if (job().rank == 0) REQUIRE_NCCL(rank.all_reduce());
  ncclComm_t child;
  REQUIRE_NCCL(ncclCommSplit(rank.comm, 0, 0, &child, nullptr));
  if (job().rank == 0) REQUIRE(pending(rank.stream));
  await_notes_of_all("split");
  REQUIRE_NCCL(ncclCommAbort(rank.comm));
  REQUIRE_NCCL(rank.all_reduce_on(child));
  REQUIRE_CUDA(cudaStreamSynchronize(rank.stream));
}

/// Started alone: the other rank never comes.
void abort_an_initialisation() {
  REQUIRE_CUDA(cudaSetDevice(0));
  ncclUniqueId id;
  REQUIRE_NCCL(ncclGetUniqueId(&id));
  std::atomic<ncclResult_t> result{ncclInProgress};
  static ncclComm_t comm = nullptr;
  std::thread waiting([&] { result = ncclCommInitRank(&comm, 2, id, 0); });
  REQUIRE(eventually([] { return static_cast<volatile ncclComm_t&>(comm) != nullptr; }));
  REQUIRE(result == ncclInProgress);
  REQUIRE_NCCL(ncclCommAbort(comm));
  waiting.join();
  REQUIRE(result == ncclInternalError && comm == nullptr);
}

void finalized_and_destroyed_are_refused() {
  Rank rank;
  if (last()) {  // the others' finalize must wait for this one
    const timespec late{0, 50'000'000};
    nanosleep(&late, nullptr);
  }
  REQUIRE_NCCL(rank.all_reduce());
  REQUIRE_NCCL(ncclCommFinalize(rank.comm));
  REQUIRE(rank.buffer.values()[0] == static_cast<float>(job().size));  // a copy does not wait for this stream
  REQUIRE(rank.all_reduce() == ncclInvalidUsage);
  REQUIRE(ncclCommFinalize(rank.comm) == ncclInvalidArgument);
  REQUIRE_NCCL(ncclCommDestroy(rank.comm));
  REQUIRE(rank.all_reduce() == ncclInvalidArgument);
  REQUIRE(ncclCommDestroy(rank.comm) == ncclInvalidArgument);
  REQUIRE_NCCL(ncclCommDestroy(nullptr));
}

/// While an operation waits for its peers every thread sleeps: one that asks again and again would be seen
/// running.
void waiting_sleeps() {
  Rank& rank = *new Rank;
  if (job().rank == 0) {
    REQUIRE_NCCL(rank.all_reduce());
    int running = 0;
    for (int sample = 0; sample < 100; ++sample) {
      const timespec pause{0, 1'000'000};
      nanosleep(&pause, nullptr);
      for (const std::string& task : other_tasks()) running += task_status(task, "State").starts_with("R");
    }
    REQUIRE(pending(rank.stream));
    REQUIRE(running < 50);
  }
  await_notes_of_all("waited");
}

}  // namespace

int main(int argc, char** argv) {
  return run_scenario(argc, argv,
                      {{"peer-dies", peer_dies},
                       {"peer-dies-with-a-living-child", peer_dies_with_a_living_child},
                       {"fork-and-go-on", fork_and_go_on},
                       {"exit-with-pending-operation", exit_with_pending_operation},
                       {"exit-after-last-operation", exit_after_last_operation},
                       {"root-leaves-before-the-others-come", root_leaves_before_the_others_come},
                       {"revoke-releases-and-refuses", revoke_releases_and_refuses},
                       {"abort-with-an-operation-queued", abort_with_an_operation_queued},
                       {"shrink-around-a-dead-rank", shrink_around_a_dead_rank},
                       {"split-and-rank-0-leaves", split_and_rank_0_leaves},
                       {"maker-of-the-id-leaves", maker_of_the_id_leaves},
                       {"split-beside-a-hanging-operation", split_beside_a_hanging_operation},
                       {"aborter-comes-before-who-waits", aborter_comes_before_who_waits},
                       {"abort-an-initialisation", abort_an_initialisation},
                       {"finalized-and-destroyed-are-refused", finalized_and_destroyed_are_refused},
                       {"waiting-sleeps", waiting_sleeps}});
}
