// Forked worker processes that read batches ahead and send them through pipes.
#include "loader.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "check.h"

namespace reference_trainer {
namespace {

// The pipe is the prefetch queue: a page holds the next few batches.
constexpr int kPipeBytes = 4096;

void write_all(int pipe, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(pipe, bytes.data(), bytes.size());
    if (written < 0) _exit(1);  // nobody reads any more
    bytes = bytes.subspan(written);
  }
}

// False at the end of the pipe.
bool read_all(int pipe, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = check_system(read(pipe, bytes.data(), bytes.size()), "pipe of a loader worker");
    if (got == 0) return false;
    bytes = bytes.subspan(got);
  }
  return true;
}

}  // namespace

Loader::Loader(Dataset& dataset, std::vector<int64_t> indices, int batch, int tokens_per_sample, int workers)
    : dataset_(dataset), indices_(std::move(indices)), batch_(batch), tokens_per_sample_(tokens_per_sample) {
  if (workers == 0) dataset_.start_worker(0, 1);
  for (int worker = 0; worker < workers; ++worker) start_worker(worker, workers);
}

Loader::~Loader() {
  for (const Worker& worker : workers_) {
    close(worker.pipe);
    // One that has sent everything is about to exit by itself.
    if (next_batch_ < batches()) kill(worker.pid, SIGKILL);
    waitpid(worker.pid, nullptr, 0);
  }
}

void Loader::start_worker(int worker, int workers) {
  int ends[2];
  check_system(pipe2(ends, O_CLOEXEC), "pipe");
  fcntl(ends[1], F_SETPIPE_SZ, kPipeBytes);
  const pid_t parent = getpid();
  const pid_t pid = check_system(fork(), "fork");
  if (pid == 0) {
    // However the rank ends, its workers end too.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    for (const Worker& sibling : workers_) close(sibling.pipe);
    close(ends[0]);
    run_worker(worker, workers, ends[1]);
  }
  close(ends[1]);
  workers_.push_back({pid, ends[0]});
}

template <typename Take>
void Loader::read_batch(int64_t batch, Take take) {
  std::vector<Token> sample(tokens_per_sample_);
  for (int64_t i = batch * batch_; i < (batch + 1) * batch_; ++i) {
    dataset_.read(indices_[i], sample);
    take(std::span<const Token>(sample));
  }
}

void Loader::run_worker(int worker, int workers, int pipe) {
  try {
    dataset_.start_worker(worker, workers);
    std::vector<int32_t> tokens;
    for (int64_t batch = worker; batch < batches(); batch += workers) {
      tokens.clear();
      read_batch(batch, [&](auto sample) { tokens.insert(tokens.end(), sample.begin(), sample.end()); });
      write_all(pipe, std::as_bytes(std::span(tokens)));
    }
    _exit(0);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: loader worker {}: {}\n", worker, error.what());
    _exit(1);
  }
}

void Loader::next(std::span<int32_t> tokens) {
  if (workers_.empty()) {
    auto out = tokens.begin();
    return read_batch(next_batch_++,
                      [&](auto sample) { out = std::copy(sample.begin(), sample.end(), out); });
  }
  const Worker& worker = workers_[next_batch_ % workers_.size()];
  if (!read_all(worker.pipe, std::as_writable_bytes(tokens))) {
    throw std::runtime_error(fmt::format("the loader worker {} is gone", worker.pid));
  }
  ++next_batch_;
}

}  // namespace reference_trainer
