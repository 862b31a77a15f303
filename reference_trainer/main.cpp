// A real, ordinary, data-parallel training program, in which bugs can be switched on.
#include <fmt/format.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "arguments.h"
#include "check.h"
#include "launcher.h"
#include "mesh.h"
#include "process_group.h"
#include "training.h"
#include "watchdog.h"

namespace reference_trainer {
namespace {

// Exits without unwinding the stack: freeing device memory would wait for peers that may never come.
[[noreturn]] void fail(int rank, const std::exception& error) {
  fmt::print(stderr, "error: rank {}: {}\n", rank, error.what());
  std::exit(1);
}

// Holds a device and does nothing until the launcher ends it.
void idle(const Place& place) {
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  sigprocmask(SIG_BLOCK, &end, nullptr);
  check(cudaSetDevice(place.local_rank));
  check(cudaFree(nullptr));
  sigwaitinfo(&end, nullptr);
}

void run_rank(const Arguments& arguments) {
  const Place place = place_from_environment(arguments.rank);
  if (place.world_size > 1 && arguments.fault_rank >= place.world_size) {
    throw std::invalid_argument(
        fmt::format("--fault-rank {} is none of {} ranks", arguments.fault_rank, place.world_size));
  }
  const auto timeout = std::chrono::milliseconds(static_cast<int64_t>(arguments.timeout_seconds * 1000));
  require_ranks(arguments.faults, place.world_size);
  require_hosts(arguments.faults, place.world_size, place.local_world_size);
  if (arguments.faults.on(Fault::kNoGroupIdle) && place.rank > 0) return idle(place);
  Watchdog watchdog(place.rank, timeout);
  try {
    watchdog.at("the creation of the communicator");
    ProcessGroup group(place, timeout, watchdog, arguments.faults);
    Training training(arguments, group);
    try {
      training.run();
      group.close();
    } catch (const std::exception& error) {
      fail(place.rank, error);
    }
  } catch (const std::exception& error) {
    fail(place.rank, error);
  }
}

int run(int argc, char** argv) {
  Arguments arguments;
  if (parse_arguments(argc, argv, arguments) == Action::kExit) return 0;
  // The launcher's children have the same arguments, and RANK set.
  if (arguments.ranks > 0 && !std::getenv("RANK")) {
    require_ranks(arguments.faults, arguments.ranks);
    require_hosts(arguments.faults, arguments.ranks, arguments.ranks);
    return launch_ranks(arguments, argv);
  }
  run_rank(arguments);
  return 0;
}

}  // namespace
}  // namespace reference_trainer

int main(int argc, char** argv) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    return reference_trainer::run(argc, argv);
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  }
}
