// Collects the names of a listing, and writes them when it has come to its end.
#include "injector/files/told_names.h"

#include <unistd.h>

#include "injector/core/settings.h"
#include "injector/files/meet.h"
#include "injector/files/stamp.h"
#include "injector/processes/generation.h"
#include "trace/write/raw_syscall.h"

namespace ddpscope::injector {
namespace {

using std::string_view;

// 4 MiB a process, whatever it lists.
constexpr std::uint32_t kMostRecords = 1u << 16;
std::atomic<std::uint32_t> records_written;
std::atomic<std::uint32_t> records_epoch;

// The last listing of this thread: one that tells the same at the same place in the order says nothing new.
struct Last {
  std::uint64_t hash;
  std::uint32_t stamp;
};
__thread Last last __attribute__((tls_model("initial-exec"))) = {};

bool is_last(std::uint32_t path, const ToldNames& told, unsigned blocks) {
  std::uint64_t hash = trace::hash_bytes(told.blocks, blocks * sizeof(told.blocks[0])) ^
                       fold_key({path, told.entries, open_epoch()});
  Last now{hash, stamp()};
  bool same = now.hash == last.hash && now.stamp == last.stamp;
  last = now;
  return same;
}

bool has_room(trace::FileWriter& file, unsigned blocks) {
  std::uint32_t epoch = file.epoch() + 1;  // 0: none yet
  if (records_epoch.exchange(epoch, std::memory_order_relaxed) != epoch) records_written = 0;
  if (records_written.fetch_add(blocks, std::memory_order_relaxed) + blocks <= kMostRecords) return true;
  records_written.fetch_sub(blocks, std::memory_order_relaxed);
  file.count(trace::Health::listings_lost);
  return false;
}

void write_blocks(trace::FileWriter& file, std::uint32_t path, ToldNames& told) {
  unsigned blocks = trace::blocks_for(told.entries);
  trace::fold_blocks(told.blocks, blocks);
  if (is_last(path, told, blocks) || !has_room(file, blocks)) return;
  std::uint32_t stack = is_first(file, Call::listing, path) ? current_stack(file) : 0;
  for (unsigned block = 0; block < blocks; ++block) {
    const std::uint64_t* words = told.blocks[block].words;
    trace::payload::Listing payload{told.since.load(std::memory_order_relaxed),
                                    words[0],
                                    words[1],
                                    words[2],
                                    path,
                                    static_cast<std::uint16_t>(told.entries),
                                    static_cast<std::uint8_t>(block),
                                    static_cast<std::uint8_t>(blocks)};
    std::uint64_t ticks = now(file);
    trace::ThreadWriter::close(
        file, open_file_record(file, Call::listing, trace::Budget::kKept, payload, ticks, stack), ticks);
  }
}

Directory* known_directory(int fd) {
  Descriptor d = descriptor(fd);
  return d.kind == DescriptorKind::kDirectory ? &directories[d.index] : nullptr;
}

// One DIR alone can move it.
bool is_own(const Directory& directory) {
  return directory.references.load(std::memory_order_relaxed) == 1 &&
         directory.told.given == descriptors_given();
}

void begin(ToldNames& told, std::uint64_t since) {
  told.thread = this_thread.writer.known_number();
  told.since = told.thread ? since : 0;
  if (!told.since) return;
  told.entries = 0;
  std::memset(told.blocks, 0, sizeof(told.blocks));
}

// It was read to its end.
void end_listing(ToldNames& told, int fd) {
  trace::FileWriter* file = open_recorder();
  Directory* directory = file ? known_directory(fd) : nullptr;
  OwnWork work(directory ? file : nullptr);
  if (!work || !told.since || !is_own(*directory) || !*directory->text) return;
  std::uint32_t path = directory->own_path;
  if (!path) path = this_thread.writer.intern(*file, directory->text);
  if (path) write_blocks(*file, path, told);
}

}  // namespace

void open_listing(Directory& directory, std::uint64_t opened) {
  ToldNames& told = directory.told;
  told.reader = nullptr;
  told.given = descriptors_given();
  begin(told, is_shared_device(directory.device) ? opened : 0);
}

void read_listing(const DIR* reader, int fd) {
  Directory* directory = known_directory(fd);
  if (!directory || !directory->told.since) return;
  bool unread =
      !directory->told.reader && is_own(*directory) && trace::raw_syscall(SYS_lseek, fd, 0, SEEK_CUR) == 0;
  if (!unread) directory->told.since = 0;
  directory->told.reader = reader;
}

void restart_listing(const DIR* reader, int fd) {
  trace::FileWriter* file = open_recorder();
  Directory* directory = file ? known_directory(fd) : nullptr;
  if (!directory || !is_shared_device(directory->device)) return;
  ToldNames& told = directory->told;
  begin(told, told.reader == reader && is_own(*directory) ? now(*file) : 0);
}

void forget_listing(int fd) {
  if (Directory* directory = known_directory(fd)) directory->told.since = 0;
}

ToldNames* listing_in_progress(const DIR* reader, int fd) {
  Directory* directory = known_directory(fd);
  if (!directory || !directory->told.since) return nullptr;
  ToldNames& told = directory->told;
  if (told.reader == reader && told.thread == this_thread.writer.known_number()) return &told;
  told.since = 0;
  return nullptr;
}

void tell_name(ToldNames& told, const char* text) {
  string_view name(text);
  if (name == "." || name == "..") return;
  if (++told.entries > trace::kListingEntries) {
    told.since = 0;
    return;
  }
  std::uint64_t hash = trace::hash_entry(name);
  trace::add_entry(told.blocks[trace::block_of(hash, trace::kListingBlocks)], hash);
}

void tell_entry(ToldNames& told, int fd, const char* name, int error) {
  if (name) return tell_name(told, name);
  if (!error) end_listing(told, fd);
  told.since = 0;
}

bool begins_scan(const LookupInProgress& lookup, NameArgument name, ToldNames& told) {
  struct stat state;
  if (!file_of(lookup.attempt.record) || !lookup.path || !find_state(name.directory, name.path, &state))
    return false;
  if (!is_shared_device(state.st_dev)) return false;
  told.since = lookup.attempt.began;
  return true;
}

void end_scan(const LookupInProgress& lookup, ToldNames& told) {
  trace::FileWriter* file = open_recorder();
  if (OwnWork work(file); work && told.since) write_blocks(*file, lookup.path, told);
}

}  // namespace ddpscope::injector
