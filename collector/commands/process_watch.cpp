// inotify tells of new trace files, whose names say which process writes them; pidfds tell of their ends.
#include "collector/commands/process_watch.h"

#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <string_view>
#include <utility>

#include "collector/commands/exit_status.h"
#include "collector/commands/own_trace.h"
#include "collector/commands/process_sight.h"
#include "collector/reading/generations.h"
#include "trace/calls.h"

namespace ddpscope::commands {
namespace {

struct Name {
  std::int32_t pid;
  std::uint64_t start_time;
};

template <class Number>
bool take_number(std::string_view& text, Number& number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end == text.data()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

// HOST.PID.START[.N].ddps, HOST being ours.
std::optional<Name> parse(std::string_view file, std::string_view host) {
  if (!file.starts_with(host) || !file.ends_with(trace::kFileSuffix)) return std::nullopt;
  file.remove_prefix(host.size());
  Name name{};
  if (!file.starts_with('.')) return std::nullopt;
  file.remove_prefix(1);
  if (!take_number(file, name.pid) || !file.starts_with('.')) return std::nullopt;
  file.remove_prefix(1);
  if (!take_number(file, name.start_time) || name.pid <= 0) return std::nullopt;
  return name;
}

int open_pidfd(std::int32_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

bool add(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

std::size_t half_of_the_descriptors() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<std::size_t>(limit.rlim_cur / 2) : 0;
}

}  // namespace

ProcessWatch::ProcessWatch(const std::filesystem::path& folder, std::string run)
    : folder_(folder),
      run_(std::move(run)),
      clock_(trace::host_clock()),
      own_(trace::read_identity()),
      began_(trace::read_ticks(clock_.kind)),
      most_(half_of_the_descriptors()),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      inotify_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
      threads_(folder) {
  inotify_add_watch(inotify_, folder.c_str(), IN_MOVED_TO | IN_CREATE);
  add(epoll_, inotify_);
}

ProcessWatch::~ProcessWatch() { close_all(); }

void ProcessWatch::close_all() {
  for (const auto& [pidfd, seen] : alive_) close(pidfd);
  alive_.clear();
  for (int* fd : {&inotify_, &epoll_})
    if (*fd >= 0) close(std::exchange(*fd, -1));
}

void ProcessWatch::look() {
  epoll_event events[64];
  int count = epoll_wait(epoll_, events, 64, 0);
  std::uint64_t now = trace::read_ticks(clock_.kind);
  for (int i = 0; i < count; ++i) {
    int fd = events[i].data.fd;
    if (fd == inotify_) {
      meet_new_files();
      continue;
    }
    auto found = alive_.find(fd);
    if (found == alive_.end()) continue;
    found->second.ended = now;
    found->second.status = status_of(fd, found->second.pid, found->second.start_time);
    found->second.memory_kills = count_memory_kills(found->second);
    ended_.push_back(found->second);
    alive_.erase(found);
    close(fd);
  }
  if (!ended_.empty()) write_news();
}

// A status of 0 may mean that none is known here, and that another process was told of SIGKILL.
std::uint32_t ProcessWatch::count_memory_kills(const Seen& seen) {
  if (seen.status == 128 + SIGKILL) return memory_kills_.take(seen.pid, seen.start_time);
  return seen.status == 0 ? memory_kills_.look(seen.pid, seen.start_time) : 0;
}

void ProcessWatch::meet_new_files() {
  alignas(inotify_event) char buffer[16 * 1024];
  for (;;) {
    ssize_t bytes = read(inotify_, buffer, sizeof(buffer));
    if (bytes <= 0) return;
    for (const char* at = buffer; at < buffer + bytes;) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      if (event->len > 0) meet(event->name);
      at += sizeof(inotify_event) + event->len;
    }
  }
}

// One that is over by now has ended in between; a pid that is somebody else's again was.
void ProcessWatch::meet(const std::string& file) {
  auto name = parse(file, own_.host);
  bool our_own = name && name->pid == own_.pid && name->start_time == own_.start_time;
  met_any_ = met_any_ || (!our_own && file.ends_with(trace::kFileSuffix));
  if (!name || our_own) return;
  for (const auto& [pidfd, seen] : alive_)
    if (seen.pid == name->pid && seen.start_time == name->start_time)
      return;  // it has become another program
  Seen seen{name->pid, name->start_time, 0, 0, 0, file};
  int pidfd = alive_.size() < most_ ? open_pidfd(seen.pid) : -1;
  bool there = trace::start_time_of(seen.pid) == seen.start_time;
  if (there && pidfd >= 0 && add(epoll_, pidfd)) {
    alive_.emplace(pidfd, seen);
    memory_kills_.meet(seen.pid, seen.start_time);
    threads_.meet(seen.pid, seen.start_time);
    return;
  }
  if (pidfd >= 0) close(pidfd);
  if (there) return;
  seen.ended = trace::read_ticks(clock_.kind);
  ended_.push_back(seen);
}

void ProcessWatch::note_signal(int signal, std::int32_t sender) {
  constexpr int kMost = 256;  // somebody may send the same without end
  if (told_count_++ < kMost) told_.push_back({signal, sender, trace::read_ticks(clock_.kind)});
  if (file_) write_news();
}

// Not before there is news: where nothing is recorded no file is wanted.
bool ProcessWatch::open_file() {
  if (file_) return true;
  file_ = open_own_trace(folder_, clock_, writer_);
  if (!file_) return false;
  trace::payload::Setting setting{writer_.intern(*file_, "DDPSCOPE_RUN"),
                                  writer_.intern(*file_, run_.c_str())};
  write<trace::Call::environment>(setting, began_, began_);
  return true;
}

template <trace::Call call>
void ProcessWatch::write(const trace::PayloadOf<call>& payload, std::uint64_t from, std::uint64_t to) {
  trace::ThreadWriter::close(*file_, writer_.open<call>(*file_, payload, from), to);
}

void ProcessWatch::write_news() {
  if (!open_file()) return;
  for (const Told& told : std::exchange(told_, {}))
    write<trace::Call::job_told>({0, told.sender, told.signal}, told.at, told.at);
  for (const Seen& seen : std::exchange(ended_, {})) {
    write<trace::Call::process_ended>({seen.start_time, seen.pid, seen.status}, seen.ended, seen.ended);
    if (seen.memory_kills)
      write<trace::Call::memory_ran_out>({seen.start_time, seen.pid, seen.memory_kills}, seen.ended,
                                         seen.ended);
  }
  file_->mark_clock();
}

std::vector<RunningProcess> ProcessWatch::running() {
  look();
  std::vector<RunningProcess> found;
  for (auto& [pidfd, seen] : alive_) {
    if (seen.run.empty()) seen.run = reading::run_in(folder_ / seen.file);
    if (seen.run == run_) found.push_back({seen.pid, name_of_process(seen.pid)});
  }
  return found;
}

void ProcessWatch::finish(int exit_code) {
  threads_.stop();
  write_news();
  if (file_) {
    std::uint64_t now = trace::read_ticks(clock_.kind);
    for (const auto& [pidfd, seen] : alive_)
      write<trace::Call::process_outlived>({seen.start_time, seen.pid, 0}, now, now);
    write<trace::Call::job_watched>({own_.start_time, own_.pid, exit_code}, began_, over_);
    file_->mark_clock();
  }
  close_all();
}

}  // namespace ddpscope::commands
