// Looked up by the handle; one that is met for the first time is asked for its members.
#include "injector/mpi/communicators.h"

#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <atomic>

#include "trace/rank_variables.h"

namespace ddpscope::injector::mpi {
namespace {

constexpr const char* kBackend = "mpi";
constexpr const char* kWorld = "MPI_COMM_WORLD";

// Jobs of one trace may have worlds of one size.
std::uint64_t job_id() {
  const char* name_space = getenv("PMIX_NAMESPACE");
  return name_space ? trace::hash_bytes(name_space, strlen(name_space)) : 0;
}

std::uint64_t world_id() { return job_id() ^ trace::hash_bytes(kWorld, strlen(kWorld)); }

// 0: members that the world does not have.
std::uint64_t id_by_members(Handle communicator, int size) {
  constexpr int kPart = 256;
  constexpr int kOurs = 1 << 20;  // MPI_UNDEFINED is negative in all of them
  Members members(communicator);
  std::uint64_t id = job_id() + 1;
  for (int first = 0; first < size; first += kPart) {
    int ranks[kPart];
    int count = std::min(kPart, size - first);
    if (!members.get(first, count, ranks)) return 0;
    if (std::any_of(ranks, ranks + count, [](int rank) { return rank < 0 || rank > kOurs; })) return 0;
    id = fold_key({id, trace::hash_bytes(ranks, static_cast<std::size_t>(count) * sizeof(int))});
  }
  return id | 1;
}

int number_in(const char* variable) {
  const char* text = variable ? getenv(variable) : nullptr;
  return text ? atoi(text) : -1;
}

std::atomic<bool> adding;
std::atomic<bool> no_room;  // once there was none: whose first calls are missing is not comparable later

// No call may be left out because another thread adds a communicator of its own. It asks nobody meanwhile.
ProcessGroup* add_once(const void* handle, const GroupIdentity& identity) {
  constexpr int kMostTries = 1 << 20;
  bool mine = false;
  for (int i = 0; i < kMostTries && !mine; ++i) mine = !adding.exchange(true, std::memory_order_acquire);
  ProcessGroup* group = find_group(handle);
  if (!group && mine && !no_room) group = add_group(handle, identity);
  if (!group) no_room = true;
  if (mine) adding.store(false, std::memory_order_release);
  return group;
}

// The handle is that of this communicator as long as nobody frees it: MPI_Comm_free() is hooked.
ProcessGroup* add(Handle communicator) {
  int joins_two = 0, rank = -1, size = 0;
  auto *ask_rank = comm_rank.get(), *ask_size = comm_size.get(), *ask_inter = comm_test_inter.get();
  bool asked = ask_rank && ask_size && ask_inter && ask_inter(communicator, &joins_two) == 0 && !joins_two &&
               ask_rank(communicator, &rank) == 0 && ask_size(communicator, &size) == 0;
  if (!asked) return nullptr;
  bool is_world = communicator == world();
  std::uint64_t id = is_world ? world_id() : id_by_members(communicator, size);
  if (!id) return nullptr;
  return add_once(reinterpret_cast<const void*>(communicator),
                  {id, is_world ? kWorld : "", kBackend, rank, size});
}

}  // namespace

// As launchers of MPI set them: not those of torchrun, which may have started this program as well.
GroupIdentity world_to_be() {
  GroupIdentity identity{world_id(), kWorld, kBackend, -1, 0};
  for (const trace::RankVariable& variable : trace::kRankVariables) {
    bool of_mpi =
        strstr(variable.name, "OMPI_") == variable.name || strstr(variable.name, "PMI_") == variable.name;
    int rank = of_mpi ? number_in(variable.name) : -1, size = of_mpi ? number_in(variable.size) : -1;
    if (rank < 0 || size <= rank) continue;
    identity.rank = rank;
    identity.size = size;
    break;
  }
  return identity;
}

ProcessGroup* group_of(Handle communicator) {
  communicator = plain(communicator);
  const auto* handle = reinterpret_cast<const void*>(communicator);
  if (ProcessGroup* known = find_group(handle)) return known;
  if (abi() == Abi::kUnknown || !communicator || communicator == no_communicator()) return nullptr;
  return add(communicator);
}

}  // namespace ddpscope::injector::mpi
