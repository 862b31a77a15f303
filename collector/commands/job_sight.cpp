// A walk over the job's processes, and a sentence of what it met.
#include "collector/commands/job_sight.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "collector/commands/preload_check.h"
#include "collector/commands/watch_thread.h"
#include "collector/reports/escape.h"
#include "trace/write/identity.h"
#include "trace/write/process_stat.h"

namespace ddpscope::commands {
namespace {

using reports::escape;

constexpr std::size_t kMostSeen = 256;  // programs; a job of more has shown what stands against it
constexpr std::size_t kMostSaid = 2;    // causes
constexpr std::chrono::milliseconds kFirstPause{2};
constexpr std::chrono::seconds kUsualPause{1}, kLongestPause{10};
constexpr int kSightShare = 100;                   // of a processor, for looks
constexpr std::chrono::milliseconds kToLoad{500};  // takes no dynamic linker

constexpr const char* kPossible =
    "it ended before it made a call that is recorded, its environment was scrubbed of LD_PRELOAD, or it is a "
    "static binary, one of 32 bits or one that changes its user";

std::string name_of_user(std::uint32_t user) {
  passwd entry{}, *found = nullptr;
  char text[4096];
  if (getpwuid_r(user, &entry, text, sizeof(text), &found) != 0 || !found) return std::to_string(user);
  return escape(found->pw_name);
}

bool lies_in_environment(Obstacle obstacle) {
  return obstacle == Obstacle::kNoPreload || obstacle == Obstacle::kOtherPreload ||
         obstacle == Obstacle::kNoTrace || obstacle == Obstacle::kDisabled;
}

// What a process passes on to those that it starts.
bool is_passed_on(Obstacle obstacle) {
  return obstacle != Obstacle::kNone && obstacle != Obstacle::kProgram && obstacle != Obstacle::kNotLoaded;
}

}  // namespace

JobSight::JobSight(RecordingNeeds needs, std::string command, std::string unloadable)
    : needs_(std::move(needs)), command_(std::move(command)), unloadable_(std::move(unloadable)) {}

// What it starts as is certain before anything was seen of it.
void JobSight::begin(std::int32_t pid) {
  pid_ = pid;
  began_ = ended_ = next_ = Clock::now();
  ProcessSight sight{};
  std::error_code unknown;
  sight.program = std::filesystem::canonical(find_program(command_).value_or(""), unknown).string();
  if (unknown) sight.program = command_;
  sight.name = command_.substr(command_.rfind('/') + 1).substr(0, 15);
  sight.user = geteuid();
  sight.obstacle = unloadable_.empty() ? Obstacle::kNone : Obstacle::kProgram;
  seen_.push_back({pid, trace::start_time_of(pid), std::move(sight), -1, began_, began_});
}

int JobSight::latest_of(std::int32_t pid, std::uint64_t start_time) const {
  for (auto i = static_cast<int>(seen_.size()) - 1; i >= 0; --i) {
    const Seen& seen = seen_[static_cast<std::size_t>(i)];
    if (seen.pid == pid && (!start_time || seen.start_time == start_time)) return i;
  }
  return -1;
}

// Those that others have adopted are looked for, too. Parents come before their children.
void JobSight::look() {
  const auto now = Clock::now();
  const auto used = computed();
  std::vector<std::int32_t> due;
  for (const Seen& seen : seen_)
    if (trace::start_time_of(seen.pid) == seen.start_time) due.push_back(seen.pid);
  std::set<std::int32_t> visited;
  for (std::size_t i = 0; i < due.size(); ++i) {
    if (!visited.insert(due[i]).second) continue;
    look_at(due[i], now);
    for (std::int32_t child : children_of(due[i])) due.push_back(child);
  }
  const auto elapsed = std::max<Clock::duration>(now - began_, 2 * kFirstPause);
  next_ = now + (elapsed < 2 * kUsualPause ? elapsed / 2
                                           : pause_after(computed() - used, kSightShare, kLongestPause));
}

void JobSight::look_at(std::int32_t pid, Clock::time_point now) {
  const std::uint64_t start_time = trace::start_time_of(pid);
  const int latest = latest_of(pid, start_time);
  const Seen* seen = latest < 0 ? nullptr : &seen_[static_cast<std::size_t>(latest)];
  if (!start_time) return;
  auto sight = see_process(pid, needs_, seen && seen->sight.loaded ? seen->sight.program : "");
  if (sight && trace::start_time_of(pid) == start_time) keep(pid, start_time, std::move(*sight), now);
}

// What it was at its start is known by name alone. Seen again without its environment, or with it again, it
// has begun anew.
bool JobSight::is_same(const Seen& before, const ProcessSight& sight) const {
  bool same_program = &before == &seen_.front() && before.last == began_
                          ? before.sight.name == sight.name
                          : before.sight.program == sight.program;
  return same_program && lies_in_environment(before.sight.obstacle) == lies_in_environment(sight.obstacle);
}

void JobSight::keep(std::int32_t pid, std::uint64_t start_time, ProcessSight sight, Clock::time_point now) {
  const int latest = latest_of(pid, start_time);
  Seen* seen = latest < 0 ? nullptr : &seen_[static_cast<std::size_t>(latest)];
  if (seen && sight.obstacle == Obstacle::kHidden && seen->sight.name == sight.name) {
    seen->last = now;  // it has hidden itself since it was seen
  } else if (seen && is_same(*seen, sight)) {
    sight.loaded = sight.loaded || seen->sight.loaded;
    seen->sight = std::move(sight);
    seen->last = now;
  } else if (seen_.size() < kMostSeen) {
    const int before = latest >= 0 ? latest : latest_of(sight.parent, 0);
    seen_.push_back({pid, start_time, std::move(sight), before, now, now});
  }
}

void JobSight::note_end() {
  ended_ = Clock::now();
  trace::ProcessStat stat(pid_);
  last_name_ = name_of_process(pid_);
  had_children_ = stat.field(trace::ProcessStat::kFaultsOfChildren) > 0;
}

// Somewhere between it and the last program above it that had what it lacks.
std::string JobSight::describe_lost(int index) const {
  for (int at = seen_[static_cast<std::size_t>(index)].before; at >= 0;) {
    const Seen& above = seen_[static_cast<std::size_t>(at)];
    if (!lies_in_environment(above.sight.obstacle)) return fmt::format(", which {} still had", name_of(at));
    at = above.before;
  }
  return "";
}

std::string JobSight::name_of(int index) const {
  const Seen& seen = seen_[static_cast<std::size_t>(index)];
  std::string user = seen.sight.user == geteuid() ? "" : ", user " + name_of_user(seen.sight.user);
  return fmt::format("{} ({}{})", escape(seen.sight.program), seen.pid, user);
}

Obstacle JobSight::obstacle_of(const Seen& seen) const {
  const ProcessSight& sight = seen.sight;
  bool late = sight.obstacle == Obstacle::kNone && !sight.loaded && seen.last - seen.first > kToLoad;
  return late ? Obstacle::kNotLoaded : sight.obstacle;
}

std::string JobSight::describe_obstacle(int index) const {
  const Seen& seen = seen_[static_cast<std::size_t>(index)];
  const std::string name = name_of(index), folder = escape(needs_.folder.string()),
                    library = escape(needs_.library);
  auto elsewhere = [&](const std::string& path, const char* what) {
    return fmt::format("{} ran in another root or mount namespace, where {} is {}", name, path, what);
  };
  switch (obstacle_of(seen)) {
    case Obstacle::kNone:
      return "";
    case Obstacle::kNoPreload:
      return name + " ran without LD_PRELOAD in its environment" + describe_lost(index);
    case Obstacle::kOtherPreload:
      return fmt::format("{} ran with an LD_PRELOAD that lacks {}{}", name, library, describe_lost(index));
    case Obstacle::kNoTrace:
      return name + " ran without DDPSCOPE_TRACE in its environment" + describe_lost(index);
    case Obstacle::kDisabled:
      return name + " ran with DDPSCOPE_DISABLE in its environment, which switches recording off";
    case Obstacle::kProgram:
      return seen.sight.unloadable;
    case Obstacle::kNotLoaded:
      return fmt::format("{} had LD_PRELOAD in its environment, but its dynamic linker did not load {}", name,
                         library);
    case Obstacle::kNoLibrary:
      return elsewhere(library, "not there");
    case Obstacle::kNoFolder:
      return elsewhere(folder, "not there");
    case Obstacle::kOtherFolder:
      return elsewhere(folder, "another folder");
    case Obstacle::kReadOnlyFolder:
      return elsewhere(folder, "read-only");
    case Obstacle::kForbiddenLibrary:
      return fmt::format("{} may not read {}", name, library);
    case Obstacle::kForbiddenFolder:
      return fmt::format("{} may not write to {}", name, folder);
    case Obstacle::kHidden:
      return name + " keeps its environment from being looked at";
  }
  return "";
}

bool JobSight::is_below(int index, int ancestor) const {
  for (; index >= 0; index = seen_[static_cast<std::size_t>(index)].before)
    if (index == ancestor) return true;
  return false;
}

bool JobSight::was_inherited(int index) const {
  const Seen& seen = seen_[static_cast<std::size_t>(index)];
  if (!is_passed_on(seen.sight.obstacle)) return false;
  for (int at = seen.before; at >= 0; at = seen_[static_cast<std::size_t>(at)].before)
    if (seen_[static_cast<std::size_t>(at)].sight.obstacle == seen.sight.obstacle) return true;
  return false;
}

// Each program and obstacle once.
std::vector<JobSight::Said> JobSight::describe_obstacles() const {
  std::map<std::pair<std::string, Obstacle>, std::size_t> known;
  std::vector<Said> said;
  for (int i = 0; i < static_cast<int>(seen_.size()); ++i) {
    const Seen& seen = seen_[static_cast<std::size_t>(i)];
    const Obstacle obstacle = obstacle_of(seen);
    const bool is_stated = obstacle == Obstacle::kProgram && seen.pid == pid_ && !unloadable_.empty();
    if (obstacle == Obstacle::kNone || is_stated || was_inherited(i)) continue;
    auto [at, is_new] = known.try_emplace({seen.sight.program, obstacle}, said.size());
    if (is_new)
      said.push_back({describe_obstacle(i), i});
    else
      ++said[at->second].count;
  }
  return said;
}

// What was seen once may have become another program at once. Of the command's own process the end is known.
bool JobSight::is_known(const Seen& seen) const {
  return seen.pid == pid_ || (seen.sight.loaded && seen.last > seen.first);
}

// -1: none. A shell above a program that is named is none.
int JobSight::most_active_without_obstacle(const std::vector<Said>& obstacles) const {
  int found = -1;
  std::uint64_t most = 0;
  for (int i = 0; i < static_cast<int>(seen_.size()); ++i) {
    const Seen& seen = seen_[static_cast<std::size_t>(i)];
    if (obstacle_of(seen) != Obstacle::kNone || !is_known(seen) || seen.sight.cpu_ticks < most) continue;
    if (std::any_of(obstacles.begin(), obstacles.end(),
                    [&](const Said& said) { return is_below(said.index, i); }))
      continue;
    found = i;
    most = seen.sight.cpu_ticks;
  }
  return found;
}

// Of a program with nothing against it.
std::string JobSight::describe_silent(int index, int exit_code) const {
  const Seen& seen = seen_[static_cast<std::size_t>(index)];
  std::string how = seen.sight.loaded ? "had the library loaded" : "was started with the library";
  std::string ended = fmt::format("ended with exit code {} after {:.1f} s", exit_code,
                                  std::chrono::duration<double>(ended_ - began_).count());
  if (index == latest_of(pid_, 0))
    return fmt::format("{} {} and {}, before it made a call that is recorded", name_of(index), how, ended);
  return fmt::format("{} {} and made no call that is recorded; the command {}", name_of(index), how, ended);
}

// What there was beside what was seen.
std::string JobSight::describe_unseen() const {
  const int latest = latest_of(pid_, 0);
  if (latest < 0) return "the job was too quick to be seen";
  const std::string& name = seen_[static_cast<std::size_t>(latest)].sight.name;
  if (!last_name_.empty() && last_name_ != "?" && last_name_ != name)
    return fmt::format("{} became {}, which was too quick to be seen", name_of(latest), escape(last_name_));
  bool any = std::any_of(seen_.begin(), seen_.end(),
                         [&](const Seen& seen) { return seen.pid != pid_ && is_known(seen); });
  return had_children_ && !any ? fmt::format("what {} started was too quick to be seen", name_of(latest))
                               : "";
}

std::string JobSight::describe(int exit_code) const {
  std::string text = unloadable_;
  auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  const std::vector<Said> obstacles = describe_obstacles();
  for (std::size_t i = 0; i < std::min(obstacles.size(), kMostSaid); ++i)
    add(obstacles[i].text +
        (obstacles[i].count > 1 ? fmt::format(", and so did {} more", obstacles[i].count - 1) : ""));
  if (obstacles.size() > kMostSaid) add(fmt::format("{} more causes", obstacles.size() - kMostSaid));
  const std::string unseen = describe_unseen();
  if (obstacles.empty() && !unseen.empty())
    add(fmt::format("{}: {}", unseen, kPossible));
  else if (int silent = most_active_without_obstacle(obstacles); silent >= 0)
    add(describe_silent(silent, exit_code));
  return text == unloadable_ ? text + "; nor did one that it started" : text;
}

}  // namespace ddpscope::commands
