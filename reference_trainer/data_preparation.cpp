// Rank 0 prepares the training data, all others wait for it.
#include "data_preparation.h"

#include <functional>

#include "corpus.h"
#include "data_handover.h"
#include "mesh.h"

namespace reference_trainer {
namespace {

constexpr const char* kPlace = "the barrier after data preparation";

// Runs work on rank 0 while the others wait. Inside such work nobody waits again.
class MainProcess {
 public:
  explicit MainProcess(ProcessGroup& group) : group_(group) {}

  void run(const std::function<void()>& work) {
    ++depth_;
    if (group_.rank() == 0) work();
    --depth_;
    if (depth_ == 0) group_.barrier(kPlace);
  }

 private:
  ProcessGroup& group_;
  int depth_ = 0;
};

void prepare_nested(const std::function<void()>& write, ProcessGroup& group) {
  MainProcess main_process(group);
  main_process.run([&] { main_process.run(write); });
}

// Only rank 0 looks: what another rank saw would depend on how far rank 0 has come.
void prepare_if_missing(const std::function<void()>& write, const std::filesystem::path& folder,
                        ProcessGroup& group) {
  const bool missing = group.rank() == 0 && !has_manifest(folder);
  if (!group.agree(missing, 0)) return;
  if (group.rank() == 0) write();
  group.barrier(kPlace);
}

// Fault divergent-existence-check: every rank looks. Who comes when rank 0 is done sees nothing to wait for.
void prepare_if_unseen(const std::function<void()>& write, const std::filesystem::path& folder,
                       ProcessGroup& group, const Faults& faults) {
  if (group.rank() != 0) faults.come_late();
  if (has_manifest(folder)) return;
  if (group.rank() == 0) write();
  group.barrier(kPlace);
}

// Twin waited-late: has something else to do while the others come.
void prepare_and_wait_late(const std::function<void()>& write, const Arguments& arguments,
                           ProcessGroup& group) {
  if (group.rank() == 0) write();
  group.barrier(kPlace, ProcessGroup::Wait::kLater);
  std::filesystem::create_directories(std::filesystem::path(arguments.workdir) / "checkpoints");
  group.synchronize();
}

// False unless a twin, or a fault with a way of its own, has prepared the data.
bool prepare_otherwise(const std::function<void()>& write, const Arguments& arguments,
                       const std::filesystem::path& folder, ProcessGroup& group) {
  const Faults& faults = arguments.faults;
  if (faults.on(Twin::kNestedBarrier)) {
    prepare_nested(write, group);
  } else if (faults.on(Twin::kBroadcastGuard) || arguments.resume) {
    prepare_if_missing(write, folder, group);
  } else if (faults.on(Fault::kDivergentExistenceCheck)) {
    prepare_if_unseen(write, folder, group, faults);
  } else if (faults.on(Twin::kWaitedLate)) {
    prepare_and_wait_late(write, arguments, group);
  } else {
    return hand_over_without_collective(arguments, folder, write, group);
  }
  return true;
}

// Whether nothing orders the reading of the data after its writing.
bool is_unordered(const Faults& faults) {
  return faults.on(Fault::kMissingBarrier) || faults.on(Fault::kIneffectiveWrongDevice) ||
         faults.on(Fault::kIneffectiveNeverWaited) || faults.on(Fault::kNoGroupNever) ||
         faults.on(Fault::kNoGroupIdle);
}

}  // namespace

void prepare_data(const Arguments& arguments, const std::filesystem::path& folder, ProcessGroup& group) {
  group.watchdog().at("data preparation");
  const Faults& faults = arguments.faults;
  const auto write = [&] { write_training_data(arguments, folder); };
  if (!prepare_otherwise(write, arguments, folder, group)) {
    if (prepares(faults, group.rank(), group.local_rank())) write();
    // "Nothing to wait for here": true only of the rank that wrote.
    if (faults.hits(Fault::kSkippedBarrier, group.rank())) return;
    if (!faults.on(Fault::kMissingBarrier)) group.barrier(kPlace);
  }
  if (group.rank() != 0 && is_unordered(faults)) faults.come_late();
  verify_training_data(folder);
}

}  // namespace reference_trainer
