// Command line, environment, mounts.
#include "injector/core/settings.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "injector/core/process.h"
#include "injector/core/secrets.h"
#include "injector/core/text_lines.h"
#include "trace/file_systems.h"
#include "trace/schema.h"
#include "trace/write/text_file.h"

extern char** environ;

namespace ddpscope::injector {
namespace {

// By which launchers give a process its place, one by one: schedulers hand out secrets beside them
// (SLURM_JWT).
constexpr const char* kNames[] = {"RANK",
                                  "WORLD_SIZE",
                                  "LOCAL_RANK",
                                  "LOCAL_WORLD_SIZE",
                                  "GROUP_RANK",
                                  "GROUP_WORLD_SIZE",
                                  "ROLE_RANK",
                                  "ROLE_WORLD_SIZE",
                                  "NODE_RANK",
                                  "MASTER_ADDR",
                                  "MASTER_PORT",
                                  "TORCHELASTIC_RUN_ID",
                                  "TORCHELASTIC_RESTART_COUNT",
                                  "TORCHELASTIC_MAX_RESTARTS",
                                  "TORCHELASTIC_USE_AGENT_STORE",
                                  "OMPI_COMM_WORLD_RANK",
                                  "OMPI_COMM_WORLD_SIZE",
                                  "OMPI_COMM_WORLD_LOCAL_RANK",
                                  "OMPI_COMM_WORLD_LOCAL_SIZE",
                                  "OMPI_COMM_WORLD_NODE_RANK",
                                  "PMI_RANK",
                                  "PMI_SIZE",
                                  "PMIX_NAMESPACE",
                                  "PMIX_RANK",
                                  "SLURM_JOB_ID",
                                  "SLURM_STEP_ID",
                                  "SLURM_PROCID",
                                  "SLURM_NTASKS",
                                  "SLURM_LOCALID",
                                  "SLURM_NODEID",
                                  "SLURM_NNODES",
                                  "SLURM_JOB_NODELIST",
                                  "SLURM_RESTART_COUNT",
                                  "LD_PRELOAD",
                                  "PYTHONDONTWRITEBYTECODE",
                                  "ACCELERATE_MIXED_PRECISION",
                                  "ACCELERATE_USE_FSDP",
                                  "ACCELERATE_USE_DEEPSPEED",
                                  "ACCELERATE_GRADIENT_ACCUMULATION_STEPS"};
// Of settings that change what we see, and which are many.
constexpr const char* kPrefixes[] = {"CUDA_",     "NCCL_",   "TORCH_NCCL_", "TORCH_DISTRIBUTED_",
                                     "DDPSCOPE_", "STANDIN_"};

bool is_of_interest(const char* variable, std::size_t name_bytes) {
  for (const char* name : kNames)
    if (strlen(name) == name_bytes && memcmp(variable, name, name_bytes) == 0) return true;
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

char masked[16384];  // only one thread ever opens the file

void write_environment(trace::FileWriter& file) {
  for (char** variable = environ; variable && *variable; ++variable) {
    const char* equals = strchr(*variable, '=');
    if (!equals) continue;
    auto name_bytes = static_cast<std::size_t>(equals - *variable);
    if (!is_of_interest(*variable, name_bytes)) continue;
    const char* value = is_secret_name(*variable, name_bytes) ? "***" : equals + 1;
    write_setting(file, trace::Call::environment, *variable, name_bytes, masked,
                  mask_value(value, strlen(value), masked, sizeof(masked)));
  }
}

void write_arguments(trace::FileWriter& file) {
  static char text[16384];
  std::size_t bytes = trace::read_text("/proc/self/cmdline", text, sizeof(text));
  char digits[24];
  std::uint64_t index = 0;
  ArgumentMask mask;
  for (std::size_t at = 0; at < bytes; at += strlen(text + at) + 1) {
    const char* name = trace::format_number(digits + sizeof(digits), index++);
    write_setting(file, trace::Call::argument, name, strlen(name), masked,
                  mask.mask(text + at, strlen(text + at), masked, sizeof(masked)));
  }
}

// The text from the blank-separated field with this number, from 0; `end` if there are fewer.
const char* find_field(const char* text, const char* end, int number) {
  for (; number > 0 && text < end; --number) {
    const auto* blank = static_cast<const char*>(memchr(text, ' ', static_cast<std::size_t>(end - text)));
    text = blank ? blank + 1 : end;
  }
  return text;
}

// Text of this process's settings; only one thread ever opens the file.
struct Text {
  char bytes[4096];
  std::size_t size = 0;

  // What does not fit is left out, whole.
  void add(const char* text, std::size_t count) {
    if (count > sizeof(bytes) - size) return;
    memcpy(bytes + size, text, count);
    size += count;
  }
};

// Device numbers of the file systems that other hosts may see, as fstat() tells them.
constexpr std::size_t kSharedDevices = 64;  // of more mounts the further ones count as the host's own
std::uint64_t shared_devices[kSharedDevices];
std::size_t shared_device_count;

// "MAJOR:MINOR "
void add_shared_device(const char* device) {
  char* minor = nullptr;
  unsigned long major = strtoul(device, &minor, 10);
  if (*minor != ':' || shared_device_count == kSharedDevices) return;
  shared_devices[shared_device_count++] =
      makedev(static_cast<unsigned>(major), static_cast<unsigned>(strtoul(minor + 1, nullptr, 10)));
}

// The mount points of network file systems so far, each with a blank behind it.
struct NetworkMounts {
  Text points;

  bool hold(const char* point, std::size_t bytes) const {
    const char *at = points.bytes, *end = points.bytes + points.size;
    while (at < end) {
      const char* next = find_field(at, end, 1);
      auto above = static_cast<std::size_t>(next - at - 1);
      if (above == 1 || (above < bytes && memcmp(at, point, above) == 0 && point[above] == '/')) return true;
      at = next;
    }
    return false;
  }
};

struct MountLine {
  trace::FileWriter& file;
  NetworkMounts& network;
};

// /proc/self/mountinfo: "ID PARENT DEVICE ROOT MOUNT_POINT OPTIONS [OPTIONAL...] - TYPE SOURCE SUPER_OPTIONS"
// (proc(5)). Those of network file systems, and what is mounted below them: it is another one's.
bool write_mount(const char* line, std::size_t bytes, void* argument) {
  auto [file, network] = *static_cast<MountLine*>(argument);
  const char* end = line + bytes;
  constexpr char kSeparator[] = " - ";
  const auto* separator = static_cast<const char*>(memmem(line, bytes, kSeparator, strlen(kSeparator)));
  if (!separator) return true;
  const char *root = find_field(line, end, 3), *point = find_field(root, end, 1);
  const char* type = separator + strlen(kSeparator);
  const char *source = find_field(type, end, 1), *options = find_field(source, end, 1);
  auto root_bytes = static_cast<std::size_t>(point - root);  // with the blank
  auto point_bytes = static_cast<std::size_t>(find_field(point, end, 1) - point);
  auto type_bytes = static_cast<std::size_t>(source - type - 1);
  auto source_bytes = static_cast<std::size_t>(options - source - 1);
  if (trace::is_shared({type, type_bytes}, {source, source_bytes}))
    add_shared_device(find_field(line, end, 2));
  if (trace::is_network_file_system({type, type_bytes}))
    network.points.add(point, point_bytes);
  else if (!network.hold(point, point_bytes - 1))
    return true;
  static Text value;
  value.size = 0;
  value.add(type, static_cast<std::size_t>(options - type));
  value.add(root, root_bytes);
  value.add(options, static_cast<std::size_t>(end - options));
  write_setting(file, trace::Call::mount, point, point_bytes - 1, value.bytes, value.size);
  return true;
}

}  // namespace

bool is_shared_device(std::uint64_t device) {
  for (std::size_t i = 0; i < shared_device_count; ++i)
    if (shared_devices[i] == device) return true;
  return false;
}

void write_settings(trace::FileWriter& file) {
  this_thread.writer.write_schema(file, trace::kSchemaText, trace::kSchemaBytes);
  write_arguments(file);
  write_environment(file);
  static NetworkMounts network;  // of our parent, after a fork
  network.points.size = shared_device_count = 0;
  MountLine mounts{file, network};
  for_each_line("/proc/self/mountinfo", write_mount, &mounts);
}

}  // namespace ddpscope::injector
