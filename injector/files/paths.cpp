// Working directory, normal form of names, names that are left out.
#include "injector/files/paths.h"

#include <string_view>

#include "trace/write/raw_syscall.h"

namespace ddpscope::injector {
namespace {

using std::string_view;
using trace::as_argument;
using trace::raw_syscall;

// A reader may still hold the text of the last change but two: texts are never freed, only taken in turn, and
// each ends with a zero that is never overwritten.
constexpr unsigned kDirectoryTexts = 4;
char directory_texts[kDirectoryTexts][trace::kMaxPath + 1];
unsigned next_text;             // __atomic
const char* current_directory;  // __atomic; nullptr: must be asked

bool is_device(string_view path) {
  constexpr string_view kShared = "/dev/shm/";
  if (!path.starts_with("/dev/")) return false;
  if (!path.starts_with(kShared)) return true;
  path.remove_prefix(kShared.size());
  return path.starts_with("sem.") || path.starts_with("torch_") || path.starts_with("psm_") ||
         path.starts_with("nccl-");
}

// `rest` begins with the slash before a component.
bool begins_cache(string_view rest) {
  for (string_view cache : {"/__pycache__", "/torchinductor_", "/torch_extensions/", "/.triton/cache/",
                            "/.nv/ComputeCache/", "/.cache/torch/kernels/", "/.ccache/"})
    if (rest.starts_with(cache)) return true;
  return false;
}

bool is_cache(string_view path) {
  if (path.ends_with(".pyc")) return true;
  while (!path.empty()) {
    char first = path.size() > 1 ? path[1] : '/';
    if ((first == '_' || first == 't' || first == '.') && begins_cache(path)) return true;
    const void* next = std::memchr(path.data() + 1, '/', path.size() - 1);
    if (!next) return false;
    path.remove_prefix(static_cast<std::size_t>(static_cast<const char*>(next) - path.data()));
  }
  return false;
}

// Appends one component to a path without a trailing slash.
std::size_t append_component(char* out, std::size_t size, const char* component, std::size_t length) {
  if (length == 0 || (length == 1 && component[0] == '.')) return size;
  if (length == 2 && component[0] == '.' && component[1] == '.') {
    while (size && out[size - 1] != '/') --size;
    return size ? size - 1 : 0;
  }
  out[size++] = '/';
  std::memcpy(out + size, component, length);
  return size + length;
}

std::size_t append_components(char* out, std::size_t size, const char* path) {
  while (*path) {
    const char* end = path;
    while (*end && *end != '/') ++end;
    size = append_component(out, size, path, static_cast<std::size_t>(end - path));
    path = *end ? end + 1 : end;
  }
  return size;
}

}  // namespace

const char* working_directory() {
  const char* known = __atomic_load_n(&current_directory, __ATOMIC_ACQUIRE);
  if (known) return known;
  char* text = directory_texts[__atomic_fetch_add(&next_text, 1, __ATOMIC_RELAXED) % kDirectoryTexts];
  long size = raw_syscall(SYS_getcwd, as_argument(text), trace::kMaxPath);
  if (size <= 0 || text[0] != '/') return "";  // removed, or outside of the root
  __atomic_store_n(&current_directory, text, __ATOMIC_RELEASE);
  return text;
}

void forget_working_directory() { __atomic_store_n(&current_directory, nullptr, __ATOMIC_RELEASE); }

std::size_t read_descriptor_path(int fd, char* out, std::size_t room) {
  char link[32] = "/proc/self/fd/";
  char digits[12];
  std::size_t count = 0, at = std::strlen(link);
  unsigned number = static_cast<unsigned>(fd);
  do digits[count++] = static_cast<char>('0' + number % 10);
  while (number /= 10);
  while (count) link[at++] = digits[--count];
  long size =
      fd < 0 ? 0 : raw_syscall(SYS_readlink, as_argument(link), as_argument(out), static_cast<long>(room));
  if (size <= 0 || out[0] != '/') return 0;
  constexpr string_view kDeleted = " (deleted)";
  string_view text(out, static_cast<std::size_t>(size));
  if (text.ends_with(kDeleted)) text.remove_suffix(kDeleted.size());
  return text.size();
}

bool is_ignored(const char* path, std::size_t size) {
  string_view text(path, size);
  return text.starts_with("/proc/") || text.starts_with("/sys/") || is_device(text) || is_cache(text);
}

std::size_t join_path(char* out, const char* base, const char* path) {
  std::size_t size = append_components(out, 0, base);
  size = append_components(out, size, path);
  if (!size) out[size++] = '/';
  out[size] = 0;
  return size;
}

}  // namespace ddpscope::injector
