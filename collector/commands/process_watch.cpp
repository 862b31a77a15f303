// inotify tells of new trace files, whose names say which process writes them; pidfds tell of their ends.
#include "collector/commands/process_watch.h"

#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "collector/commands/exit_status.h"
#include "trace/write/thread_writer.h"

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

ProcessWatch::ProcessWatch(const std::filesystem::path& folder)
    : folder_(folder),
      clock_(trace::host_clock()),
      own_(trace::read_identity()),
      began_(trace::read_ticks(clock_.kind)),
      most_(half_of_the_descriptors()),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      inotify_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
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
  if (!name) return;
  for (const auto& [pidfd, seen] : alive_)
    if (seen.pid == name->pid && seen.start_time == name->start_time)
      return;  // it has become another program
  Seen seen{name->pid, name->start_time, 0, 0, 0};
  int pidfd = alive_.size() < most_ ? open_pidfd(seen.pid) : -1;
  bool there = trace::start_time_of(seen.pid) == seen.start_time;
  if (there && pidfd >= 0 && add(epoll_, pidfd)) {
    alive_.emplace(pidfd, seen);
    memory_kills_.meet(seen.pid, seen.start_time);
    return;
  }
  if (pidfd >= 0) close(pidfd);
  if (there) return;
  seen.ended = trace::read_ticks(clock_.kind);
  ended_.push_back(seen);
}

void ProcessWatch::note_signal(int signal, std::int32_t sender) {
  constexpr std::size_t kMost = 256;  // somebody may send the same without end
  if (told_.size() < kMost) told_.push_back({signal, sender, trace::read_ticks(clock_.kind)});
}

void ProcessWatch::write(const std::string& run, int exit_code) {
  look();
  close_all();
  auto file = std::make_unique<trace::FileWriter>();
  trace::ThreadWriter writer{};
  if (!file->open(folder_.c_str(), own_, clock_, trace::kPageBytes, false)) return;
  writer.write_schema(*file, trace::kSchemaText, trace::kSchemaBytes);
  std::uint64_t now = trace::read_ticks(clock_.kind);
  auto record = [&]<trace::Call call>(const trace::PayloadOf<call>& payload, std::uint64_t from,
                                      std::uint64_t to) {
    trace::ThreadWriter::close(*file, writer.open<call>(*file, payload, from), to);
  };
  trace::payload::Setting setting{writer.intern(*file, "DDPSCOPE_RUN"), writer.intern(*file, run.c_str())};
  record.operator()<trace::Call::environment>(setting, now, now);
  record.operator()<trace::Call::job_watched>({own_.start_time, own_.pid, exit_code}, began_, now);
  for (const Told& told : told_)
    record.operator()<trace::Call::job_told>({0, told.sender, told.signal}, told.at, told.at);
  for (const Seen& seen : ended_) {
    record.operator()<trace::Call::process_ended>({seen.start_time, seen.pid, seen.status}, seen.ended,
                                                  seen.ended);
    if (seen.memory_kills)
      record.operator()<trace::Call::memory_ran_out>({seen.start_time, seen.pid, seen.memory_kills},
                                                     seen.ended, seen.ended);
  }
  file->mark_clock();
}

}  // namespace ddpscope::commands
