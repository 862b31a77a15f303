// The latest attempts of each thread, by name.
#include "injector/files/attempts.h"

namespace ddpscope::injector {

__thread std::uint32_t file_records __attribute__((tls_model("initial-exec")));

namespace {

struct Latest {
  std::uint64_t key;
  trace::OpenRecord record;
  std::uint32_t stamp;
};

// Few, because thread-local storage is taken from the stacks of the guest's threads.
constexpr std::size_t kNames = 16;
__thread Latest latest[kNames] __attribute__((tls_model("initial-exec"))) = {};

Latest& latest_of(std::uint64_t key) { return latest[(key >> 32) % kNames]; }

}  // namespace

Attempt join_attempts(trace::FileWriter& file, Call call, std::uint64_t name_hash) {
  Attempt attempt{};
  attempt.began = now(file);
  attempt.key = name_hash ^ static_cast<std::uint64_t>(call);
  Latest& known = latest_of(attempt.key);
  if (known.key != attempt.key || known.stamp != stamp() || !known.record ||
      known.record.epoch != file.epoch())
    return attempt;
  std::uint64_t end = known.record.record->end;
  attempt.record = this_thread.writer.resume(file, known.record);
  if (attempt.record) attempt.end_before = end;  // else the record has been moved out of its chunk
  return attempt;
}

void start_attempts(const Attempt& attempt) {
  latest_of(attempt.key) = {attempt.key, attempt.record, stamp()};
}

void part_attempt(trace::FileWriter& file, Attempt& attempt) {
  trace::ThreadWriter::close(file, attempt.record, attempt.end_before);
  attempt.record = {};
}

void forget_attempts(const Attempt& attempt) {
  if (latest_of(attempt.key).key == attempt.key) latest_of(attempt.key) = {};
}

}  // namespace ddpscope::injector
