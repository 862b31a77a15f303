// A small table of the latest ones, one entry for each name and outcome.
#include "injector/files/passed_looks.h"

#include <algorithm>
#include <string_view>

#include "injector/core/rank.h"
#include "injector/core/turn.h"
#include "injector/files/paths.h"
#include "injector/processes/generation.h"
#include "trace/write/clock.h"

namespace ddpscope::injector {
namespace {

using std::string_view;

struct Look {
  std::uint64_t began = 0, ended = 0;  // ticks
  std::uint64_t hash = 0;              // of the path
  Found found = {};
  int error = 0;
  Call call = {};
  std::uint32_t count = 0;  // 0: a free place
  std::uint32_t size = 0;
  std::uint32_t flags = 0, mode = 0;  // of a pipe that was opened
  char path[264] = {};
};

constexpr std::size_t kLooks = 24;
Look looks[kLooks];
std::atomic<trace::ClockKind> clock_kind;  // 0: not asked yet
const Look* latest;                        // the one that was taken last,
std::uint64_t run_began;                   // and since when (ns) no other was
std::atomic<bool> taken;

// A program that looks a name up twice does so within microseconds (a folder that stands in PATH twice).
constexpr std::uint64_t kWaitNs = 1'000'000;

// The host's clock is asked for once: a virtual machine takes long to answer.
std::uint64_t ticks() {
  trace::ClockKind kind = clock_kind.load(std::memory_order_relaxed);
  if (kind == trace::ClockKind{})
    clock_kind.store(kind = trace::host_clock().kind, std::memory_order_relaxed);
  return trace::read_ticks(kind);
}

bool is_open(Call call) {
  return trace::find_call(static_cast<std::uint16_t>(call))->payload == trace::PayloadKind::kFileOpen;
}

// What programs look for when they start; no rank makes it.
bool is_of_the_system(string_view path) {
  for (string_view folder : {"/usr/", "/lib/", "/lib64/", "/etc/", "/bin/", "/sbin/"})
    if (path.starts_with(folder)) return true;
  return path.find("/lib/python") != string_view::npos;
}

// What a program is made of, and how Python and the loader find it.
bool is_code(string_view path) {
  for (string_view ending :
       {".py", ".so", ".pth", "._pth", "/pyvenv.cfg", "/pybuilddir.txt", "/Modules/Setup.local"})
    if (path.ends_with(ending)) return true;
  return path.find(".so.") != string_view::npos || path.find("/site-packages/") != string_view::npos ||
         path.find("/dist-packages/") != string_view::npos;
}

struct Path {
  string_view text;
  std::uint64_t hash;
};

bool names(const Look& look, const Path& path) {
  return look.hash == path.hash && look.count && string_view(look.path, look.size) == path.text;
}

Look* find(Call call, const Path& path, const Found& found, int error) {
  for (Look& look : looks)
    if (look.call == call && look.error == error && names(look, path) && look.found.inode == found.inode)
      return &look;
  return nullptr;
}

// Those that were repeated are worth more than single ones, then the later ones.
Look& least() {
  return *std::min_element(looks, looks + kLooks, [](const Look& a, const Look& b) {
    auto worth = [](const Look& look) { return std::min(look.count, 2u); };
    return worth(a) != worth(b) ? worth(a) < worth(b) : a.ended < b.ended;
  });
}

bool failed_before(const Path& path) {
  return std::any_of(looks, looks + kLooks,
                     [&](const Look& look) { return look.error && names(look, path); });
}

void set_path(Look& look, string_view text) {
  look.size = static_cast<std::uint32_t>(text.size());
  std::memcpy(look.path, text.data(), text.size());
}

// Whether the process waits: it looks for this name in vain, for nothing else, and has for some time.
bool keep(Call call, string_view text, const Found& found, int error, std::uint64_t began) {
  Turn turn(taken);
  if (!turn || text.size() > sizeof(Look::path)) return false;
  Path path{text, trace::hash_bytes(text.data(), text.size())};
  if (is_open(call) && !error && !failed_before(path)) return false;
  Look* known = find(call, path, found, error);
  if (!known) {
    known = &least();
    *known = {.began = began, .hash = path.hash, .error = error, .call = call};
    set_path(*known, text);
    latest = nullptr;
  }
  std::uint64_t now_ns = trace::monotonic_ns();
  if (known != latest) run_began = now_ns;
  latest = known;
  known->found = found;
  known->ended = ticks();
  ++known->count;
  return error && now_ns - run_began >= kWaitNs;
}

void keep_pipe(const OpenRequest& request, string_view text, const Found& found, std::uint64_t began) {
  Turn turn(taken);
  if (!turn || text.size() > sizeof(Look::path)) return;
  Look& look = least();
  look = {.began = began,
          .ended = ticks(),
          .hash = trace::hash_bytes(text.data(), text.size()),
          .found = found,
          .call = request.call,
          .count = 1,
          .flags = static_cast<std::uint32_t>(request.flags),
          .mode = S_IFIFO};
  set_path(look, text);
  latest = nullptr;
}

trace::OpenRecord open_record(trace::FileWriter& file, const Look& look) {
  std::uint32_t path = this_thread.writer.intern(file, look.path, look.size);
  if (is_open(look.call)) {
    trace::payload::FileOpen payload{};
    payload.device = look.found.device;
    payload.inode = look.found.inode;
    payload.path = path;
    payload.fd = -static_cast<std::int32_t>(look.count);
    payload.flags = look.flags;
    payload.mode = look.mode;
    payload.error = look.error;
    return open_file_record(file, look.call, trace::Budget::kKept, payload, look.began);
  }
  trace::payload::FileName payload{};
  payload.device = look.found.device;
  payload.inode = look.found.inode;
  payload.size = look.found.size;
  payload.path = path;
  payload.count = look.count;
  payload.error = look.error;
  return open_file_record(file, look.call, trace::Budget::kKept, payload, look.began);
}

}  // namespace

bool reads_as_rank(const OpenRequest& request) {
  if (!awaits_weight() || !is_one_of_several() || request.flags & O_DIRECTORY) return false;
  return with_absolute_path(request.directory, request.path, [](PathText path) {
    string_view text(path.text, path.size);
    return !is_ignored(path.text, path.size) && !is_of_the_system(text) && !is_code(text);
  });
}

void keep_looks_of_rank() {
  if (!awaits_weight() || !is_one_of_several()) return;
  bool in_vain = std::any_of(looks, looks + kLooks, [](const Look& look) {
    return look.count && look.error && !is_code(string_view(look.path, look.size));
  });
  if (in_vain) recorder(Weight::kOpens);
}

std::uint64_t begin_passed_look() { return awaits_weight() ? ticks() : 0; }

void note_passed_look(Call call, NameArgument name, const Found& found, int error, std::uint64_t began) {
  if (!began || error == EFAULT || !*name.path || in_vfork_child()) return;
  int saved = errno;
  with_absolute_path(name.directory, name.path, [&](PathText path) {
    string_view text(path.text, path.size);
    if (is_ignored(path.text, path.size) || is_of_the_system(text)) return;
    if (keep(call, text, found, error, began)) recorder(Weight::kOpens);
  });
  errno = saved;
}

void note_opened_pipe(const OpenRequest& request, const Found& found, std::uint64_t began) {
  int saved = errno;
  with_absolute_path(request.directory, request.path, [&](PathText path) {
    if (is_ignored(path.text, path.size)) return;
    keep_pipe(request, string_view(path.text, path.size), found, began);
    recorder(Weight::kOpens);
  });
  errno = saved;
}

void write_passed_looks(trace::FileWriter& file) {
  Turn turn(taken);
  if (!turn) return;
  std::sort(looks, looks + kLooks, [](const Look& a, const Look& b) { return a.began < b.began; });
  for (Look& look : looks) {
    if (look.count) trace::ThreadWriter::close(file, open_record(file, look), look.ended);
    look.count = 0;
  }
  latest = nullptr;
}

void forget_passed_looks() {
  for (Look& look : looks) look.count = 0;
  latest = nullptr;
  taken.store(false, std::memory_order_relaxed);
}

}  // namespace ddpscope::injector
