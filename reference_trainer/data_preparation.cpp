// Rank 0 prepares the training data, all others wait for it.
#include "data_preparation.h"

#include <functional>

#include "corpus.h"

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

}  // namespace

void prepare_data(const Arguments& arguments, const std::filesystem::path& folder, ProcessGroup& group) {
  group.watchdog().at("data preparation");
  const auto write = [&] { write_training_data(arguments, folder); };
  if (arguments.faults.on(Twin::kNestedBarrier)) return prepare_nested(write, group);
  if (arguments.faults.on(Twin::kBroadcastGuard) || arguments.resume)
    return prepare_if_missing(write, folder, group);
  if (group.rank() == 0) write();
  // "Nothing to wait for here": true only of the rank that wrote.
  if (arguments.faults.hits(Fault::kSkippedBarrier, group.rank())) return;
  group.barrier(kPlace);
}

}  // namespace reference_trainer
