// Looking up one name again and again with the same outcome (polling, imports): one record stands for all
// attempts.
#pragma once
#include "injector/files/stamp.h"

namespace ddpscope::injector {

struct Attempt {
  trace::OpenRecord record;
  std::uint64_t began;       // ticks
  std::uint64_t end_before;  // of the attempts that this one was added to; 0: it has a record of its own
  std::uint64_t key;
};

// Before the call its outcome is not known: it is added to the latest attempts at the same name, if there are
// any, and taken out again by part_attempt() if it turns out otherwise. All as own work only.
Attempt join_attempts(trace::FileWriter& file, Call call, std::uint64_t name_hash);

// For an attempt that joined none: its record is the one that later ones join.
void start_attempts(const Attempt& attempt);

// The outcome is another one: the earlier attempts are as they were; the caller opens a record that began at
// `attempt.began`.
void part_attempt(trace::FileWriter& file, Attempt& attempt);

// Later attempts at this name get a record of their own.
void forget_attempts(const Attempt& attempt);

}  // namespace ddpscope::injector
