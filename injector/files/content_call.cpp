// Records of truncations, syncs and mappings.
#include "injector/files/content_call.h"

#include <fcntl.h>

#include <string_view>

#include "injector/files/meet.h"
#include "injector/files/paths.h"
#include "injector/files/stamp.h"

namespace ddpscope::injector {
namespace {

struct MappedFile {
  std::atomic<std::uint32_t> references{};  // 1 while mapped
  std::atomic<const void*> address{};
  std::uint32_t file{};
  std::uint32_t epoch{};
};

constinit Pool<MappedFile, 512> mapped_files;
constexpr std::uint32_t kMostSharedMappings = 4096;
std::atomic<std::uint32_t> shared_mappings;
std::atomic<std::uint32_t> mappings;  // that are remembered: most processes unmap nothing but memory

}  // namespace

trace::OpenRecord begin_file_call(Call call, int fd, const FileCall& what) {
  trace::FileWriter* file = recorder(Weight::kFollows);
  OwnWork work(file);
  if (!work) return {};
  Opening* opening = known_opening(*file, fd);
  if (!opening || !opening->kept) return {};
  trace::payload::FileIo payload{opening->file, fd, what.offset, what.bytes, what.next, what.count, 0};
  return open_file_record(*file, call, trace::Budget::kKept, payload, now(*file));
}

trace::OpenRecord begin_shared_mapping(Call call, int fd, const FileCall& what) {
  struct stat state;
  if (inside_vendor_call() || !state_of(fd, &state) || !S_ISREG(state.st_mode)) return {};
  char path[trace::kMaxPath];
  std::string_view name(path, read_descriptor_path(fd, path, sizeof(path)));
  // Loader workers pass on each batch through a file of its own: they are worth no trace, and not all of them
  // a record.
  bool batch = name.starts_with("/dev/shm/torch_");
  trace::FileWriter* file = recorder(batch ? Weight::kFollows : Weight::kOpens);
  OwnWork work(file);
  if (!work || shared_mappings.fetch_add(1, std::memory_order_relaxed) >= kMostSharedMappings) return {};
  std::uint32_t number = record_descriptor(*file, fd, state.st_dev, state.st_ino, O_RDWR, name);
  trace::payload::FileIo payload{number, fd, what.offset, what.bytes, what.next, what.count, 0};
  return open_file_record(*file, call, trace::Budget::kKept, payload, now(*file));
}

void end_file_call(const trace::OpenRecord& record, int error) {
  auto* payload = results_in<trace::payload::FileIo>(record);
  if (!payload) return;
  payload->error = error;
  end(record);
}

void note_mapping(int fd, const void* address) {
  trace::FileWriter* file = open_recorder();
  Descriptor d = descriptor(fd);
  if (!file || d.kind != DescriptorKind::kFile) return;
  std::uint32_t index = mapped_files.take();
  if (index == mapped_files.kNone) return;  // its end will not be seen
  MappedFile& mapped = mapped_files[index];
  mapped.file = openings[d.index].file;
  mapped.epoch = file->epoch();
  mapped.address = address;
  mappings.fetch_add(1, std::memory_order_relaxed);
}

std::uint32_t mapped_file(const void* address, Mapping then) {
  trace::FileWriter* file = open_recorder();
  if (!file || !mappings.load(std::memory_order_relaxed)) return 0;
  for (std::uint32_t i = 0; i < mapped_files.used(); ++i) {
    MappedFile& mapped = mapped_files[i];
    const void* known = address;
    if (mapped.address.load(std::memory_order_relaxed) != address || mapped.epoch != file->epoch()) continue;
    std::uint32_t number = mapped.file;
    if (then == Mapping::kEnds && mapped.address.compare_exchange_strong(known, nullptr)) {
      mappings.fetch_sub(1, std::memory_order_relaxed);
      mapped_files.release(i);
    }
    return number;
  }
  return 0;
}

trace::OpenRecord begin_mapping_call(Call call, const void* address, std::size_t bytes, Mapping then) {
  std::uint32_t number = mapped_file(address, then);
  trace::FileWriter* file = number ? open_recorder() : nullptr;
  OwnWork work(file);
  if (!work) return {};
  trace::payload::FileIo payload{number, -1, 0, bytes, 0, 1, 0};
  trace::Budget budget = then == Mapping::kEnds ? trace::Budget::kBulk : trace::Budget::kKept;
  return open_file_record(*file, call, budget, payload, now(*file));
}

}  // namespace ddpscope::injector
