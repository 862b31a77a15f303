// Why nothing of a job is recorded: what `run` sees of the job's processes while it waits for the first
// trace.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "collector/commands/process_sight.h"

namespace ddpscope::commands {

// Looks often at first, then once a second, less often where a look takes long: at most a hundredth of a
// processor, but every ten seconds at least. Reads /proc only, and nothing at all once something is recorded.
class JobSight {
 public:
  using Clock = std::chrono::steady_clock;

  // `unloadable`: what stands against the preload in the command's own program, see PreloadCheck; or empty.
  JobSight(RecordingNeeds needs, std::string command, std::string unloadable);

  void begin(std::int32_t pid);                     // it has become the command just now
  Clock::time_point next() const { return next_; }  // when look() is due; max: never again
  void look();
  void stop() { next_ = Clock::time_point::max(); }  // something is recorded
  void note_end();                                   // the command has ended, and nobody has awaited it yet

  // The causes as part of a sentence, for a job of which nothing was recorded: "/usr/bin/env (12) ran ...;
  // ..."
  std::string describe(int exit_code) const;

 private:
  struct Seen {
    std::int32_t pid;
    std::uint64_t start_time;
    ProcessSight sight;
    int before;  // index of what it was before, or of its parent; -1: the command's own start
    Clock::time_point first, last;
  };
  struct Said {
    std::string text;
    int index;      // in seen_
    int count = 1;  // programs of which the same is true
  };
  int latest_of(std::int32_t pid, std::uint64_t start_time) const;
  void look_at(std::int32_t pid, Clock::time_point now);
  bool is_same(const Seen& before, const ProcessSight& sight) const;
  void keep(std::int32_t pid, std::uint64_t start_time, ProcessSight sight, Clock::time_point now);
  Obstacle obstacle_of(const Seen& seen) const;
  bool is_known(const Seen& seen) const;
  bool is_below(int index, int ancestor) const;
  bool was_inherited(int index) const;
  std::string name_of(int index) const;
  std::string describe_lost(int index) const;
  std::string describe_obstacle(int index) const;
  std::vector<Said> describe_obstacles() const;
  int most_active_without_obstacle(const std::vector<Said>& obstacles) const;
  std::string describe_silent(int index, int exit_code) const;
  std::string describe_unseen() const;

  RecordingNeeds needs_;
  std::string command_, unloadable_;
  std::int32_t pid_ = 0;
  Clock::time_point began_{}, ended_{}, next_ = Clock::time_point::max();
  std::string last_name_;      // of the command's process when it had ended
  bool had_children_ = false;  // that it waited for
  std::vector<Seen> seen_;
};

}  // namespace ddpscope::commands
