// Reads who this process is and writes what does not change about it.
#include "injector/core/settings.h"

#include <string.h>
#include <sys/utsname.h>

#include "injector/core/process.h"
#include "injector/core/text_lines.h"
#include "trace/schema.h"
#include "trace/write/raw_syscall.h"

extern char** environ;

namespace ddpscope::injector {
namespace {

using trace::as_argument;
using trace::raw_syscall;

std::uint64_t parse_number(const char* text) {
  std::uint64_t value = 0;
  while (*text >= '0' && *text <= '9') value = value * 10 + static_cast<std::uint64_t>(*text++ - '0');
  return value;
}

char* format_number(char* end, std::uint64_t number) {
  *--end = 0;
  do *--end = static_cast<char>('0' + number % 10);
  while (number /= 10);
  return end;
}

// Fields of /proc/PID/stat as proc(5) numbers them, from 3. The name, field 2, may hold blanks and brackets.
struct Stat {
  char text[1024];
  const char* after_name = nullptr;

  explicit Stat(std::int32_t pid) {
    char path[64] = "/proc/";
    char digits[24];
    strcat(path, format_number(digits + sizeof(digits), static_cast<std::uint64_t>(pid)));
    strcat(path, "/stat");
    read_text(path, text, sizeof(text));
    after_name = strrchr(text, ')');
  }
  std::uint64_t field(int number) const {
    const char* at = after_name ? after_name + 1 : "";
    for (int skip = 3; *at; ++skip) {
      while (*at == ' ') ++at;
      if (skip == number) return parse_number(at);
      while (*at && *at != ' ') ++at;
    }
    return 0;
  }
};

constexpr int kParentPid = 4;
constexpr int kStartTime = 22;

// Variables by which launchers and frameworks give a process its place, and those that change what we see.
constexpr const char* kPrefixes[] = {"RANK=",
                                     "WORLD_SIZE=",
                                     "LOCAL_RANK=",
                                     "LOCAL_WORLD_SIZE=",
                                     "GROUP_RANK=",
                                     "ROLE_RANK=",
                                     "NODE_RANK=",
                                     "MASTER_ADDR=",
                                     "MASTER_PORT=",
                                     "TORCHELASTIC_",
                                     "OMPI_COMM_WORLD_",
                                     "PMI_",
                                     "PMIX_RANK=",
                                     "SLURM_",
                                     "CUDA_",
                                     "NCCL_",
                                     "TORCH_NCCL_",
                                     "TORCH_DISTRIBUTED_",
                                     "DDPSCOPE_",
                                     "STANDIN_",
                                     "LD_PRELOAD=",
                                     "PYTHONDONTWRITEBYTECODE=",
                                     "ACCELERATE_",
                                     "DEEPSPEED_"};

bool is_of_interest(const char* variable) {
  for (const char* prefix : kPrefixes)
    if (strncmp(variable, prefix, strlen(prefix)) == 0) return true;
  return false;
}

void write_setting(trace::FileWriter& file, trace::Call call, const char* name, std::size_t name_bytes,
                   const char* value, std::size_t value_bytes) {
  trace::ThreadWriter& writer = this_thread.writer;
  trace::payload::Setting setting{writer.intern(file, name, name_bytes),
                                  writer.intern(file, value, value_bytes)};
  std::uint64_t ticks = now(file);
  trace::ThreadWriter::close(
      file, writer.open_in(file, call, trace::Budget::kKept, &setting, sizeof(setting), ticks, 0), ticks + 1);
}

void write_environment(trace::FileWriter& file) {
  for (char** variable = environ; variable && *variable; ++variable) {
    const char* equals = strchr(*variable, '=');
    if (!equals || !is_of_interest(*variable)) continue;
    write_setting(file, trace::Call::environment, *variable, static_cast<std::size_t>(equals - *variable),
                  equals + 1, strlen(equals + 1));
  }
}

void write_arguments(trace::FileWriter& file) {
  static char text[16384];  // only one thread ever opens the file
  std::size_t bytes = read_text("/proc/self/cmdline", text, sizeof(text));
  char digits[24];
  std::uint64_t index = 0;
  for (std::size_t at = 0; at < bytes; at += strlen(text + at) + 1) {
    const char* name = format_number(digits + sizeof(digits), index++);
    write_setting(file, trace::Call::argument, name, strlen(name), text + at, strlen(text + at));
  }
}

bool is_network_file_system(const char* type) {
  for (const char* known :
       {"nfs", "lustre", "gpfs", "beegfs", "ceph", "cifs", "smb3", "9p", "fuse", "afs", "wekafs", "virtiofs"})
    if (strncmp(type, known, strlen(known)) == 0) return true;
  return false;
}

// The text from the blank-separated field with this number, from 0; `end` if there are fewer.
const char* find_field(const char* text, const char* end, int number) {
  for (; number > 0 && text < end; --number) {
    const auto* blank = static_cast<const char*>(memchr(text, ' ', static_cast<std::size_t>(end - text)));
    text = blank ? blank + 1 : end;
  }
  return text;
}

// /proc/self/mountinfo: "ID PARENT DEVICE ROOT MOUNT_POINT OPTIONS [OPTIONAL...] - TYPE SOURCE SUPER_OPTIONS"
// (proc(5)).
bool write_mount(const char* line, std::size_t bytes, void* argument) {
  const char* end = line + bytes;
  constexpr char kSeparator[] = " - ";
  const auto* separator = static_cast<const char*>(memmem(line, bytes, kSeparator, strlen(kSeparator)));
  if (!separator || !is_network_file_system(separator + strlen(kSeparator))) return true;
  const char* point = find_field(line, end, 4);
  const char* type = separator + strlen(kSeparator);
  write_setting(*static_cast<trace::FileWriter*>(argument), trace::Call::mount, point,
                static_cast<std::size_t>(find_field(point, end, 1) - point - 1), type,
                static_cast<std::size_t>(end - type));
  return true;
}

}  // namespace

void read_identity(trace::Identity* identity) {
  char boot_id[64] = {};
  std::size_t bytes = read_text("/proc/sys/kernel/random/boot_id", boot_id, sizeof(boot_id));
  identity->host_id = trace::hash_bytes(boot_id, bytes);
  utsname names;
  if (raw_syscall(SYS_uname, as_argument(&names)) == 0)
    memcpy(identity->host, names.nodename, strnlen(names.nodename, sizeof(identity->host) - 1));
  for (char* at = identity->host; *at; ++at)
    if (*at == '/') *at = '_';
  identity->pid = static_cast<std::int32_t>(raw_syscall(SYS_getpid));
  Stat own(identity->pid);
  identity->start_time = own.field(kStartTime);
  identity->parent_pid = static_cast<std::int32_t>(own.field(kParentPid));
  if (identity->parent_pid > 0) identity->parent_start_time = Stat(identity->parent_pid).field(kStartTime);
}

void write_settings(trace::FileWriter& file) {
  this_thread.writer.write_schema(file, trace::kSchemaText, trace::kSchemaBytes);
  write_arguments(file);
  write_environment(file);
  for_each_line("/proc/self/mountinfo", write_mount, &file);
}

}  // namespace ddpscope::injector
