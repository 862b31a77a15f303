// Healthy ways to hand prepared data over to the other ranks that need no collective.
#include "data_handover.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "atomic_file.h"
#include "check.h"
#include "corpus.h"

namespace reference_trainer {
namespace {

using Write = std::function<void()>;

// The watchdog ends a rank that waits in vain.
void wait_for(const std::function<bool()>& there) {
  while (!there()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

// So long that the others come to look meanwhile, as they do where preparing takes minutes: whoever comes
// when all is done sees nothing to wait for.
void prepare(const Write& write) {
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  write();
}

// What an earlier run left is not touched: the others would take its marker for this run's.
void poll_for_marker(const std::filesystem::path& folder, const Write& write, const ProcessGroup& group) {
  const std::filesystem::path marker = folder / "prepared";
  const auto there = [&] { return std::filesystem::exists(marker); };
  if (group.rank() != 0) return wait_for(there);
  if (there()) return;
  prepare(write);
  write_in_place(marker, "");
}

void poll_for_manifest(const std::filesystem::path& folder, const Write& write, const ProcessGroup& group) {
  const auto there = [&] { return has_manifest(folder); };
  if (group.rank() != 0) return wait_for(there);
  if (!there()) prepare(write);
}

// Whoever comes first prepares.
void prepare_under_lock(const std::filesystem::path& folder, const Write& write) {
  std::filesystem::create_directories(folder);
  const std::filesystem::path lock = folder / "prepare.lock";
  const int file = check_system(open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644), lock.native());
  check_system(flock(file, LOCK_EX), lock.native());
  if (!has_manifest(folder)) write();
  check_system(flock(file, LOCK_UN), lock.native());
  check_system(close(file), lock.native());
}

}  // namespace

bool hand_over_without_collective(const Arguments& arguments, const std::filesystem::path& folder,
                                  const std::function<void()>& write, ProcessGroup& group) {
  if (arguments.faults.on(Twin::kPollMarker)) {
    poll_for_marker(folder, write, group);
  } else if (arguments.faults.on(Twin::kRenamePublished)) {
    poll_for_manifest(folder, write, group);
  } else if (arguments.faults.on(Twin::kStoreWait)) {
    if (group.rank() == 0) write();
    group.wait_for_rank_0();
  } else if (arguments.faults.on(Twin::kLockFile)) {
    prepare_under_lock(folder, write);
  } else {
    return false;
  }
  return true;
}

}  // namespace reference_trainer
