// A pass-through file system that keeps what it knows of a folder for a while, as clients of network file
// systems do, and reads and writes at a given pace: caching_mount BACKING POINT SOURCE KEEP_SECONDS
// BYTES_PER_SECOND KEEPS_LISTINGS.
//
// What it knows of a folder, names and attributes, it has from one look and uses until KEEP_SECONDS have
// passed: what others make meanwhile is not there, what they write does not count. Changing something in it,
// or listing it if KEEPS_LISTINGS is 0, asks anew. BYTES_PER_SECOND 0: as fast as the disk. Runs until it is
// unmounted.
#define FUSE_USE_VERSION 31
#include <dirent.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;

struct Snapshot {
  Clock::time_point taken;
  std::map<std::string, struct stat> entries;
};

std::string backing;
std::chrono::duration<double> keep;
double bytes_per_second;
bool keeps_listings;
std::mutex mutex;
std::map<std::string, Snapshot> snapshots;  // by folder

std::string real(const char* path) { return backing + path; }
std::string folder_of(const std::string& path) {
  std::string folder = path.substr(0, path.rfind('/'));
  return folder.empty() ? "/" : folder;
}
int outcome(int result) { return result < 0 ? -errno : 0; }

void forget(const char* path) {
  std::lock_guard lock(mutex);
  snapshots.erase(folder_of(path));
}

Snapshot look(const std::string& folder) {
  Snapshot snapshot{Clock::now(), {}};
  DIR* opened = opendir(real(folder.c_str()).c_str());
  while (dirent* entry = opened ? readdir(opened) : nullptr) {
    struct stat state;
    if (fstatat(dirfd(opened), entry->d_name, &state, AT_SYMLINK_NOFOLLOW) == 0)
      snapshot.entries.emplace(entry->d_name, state);
  }
  if (opened) closedir(opened);
  return snapshot;
}

Snapshot& known(const std::string& folder) {
  auto [found, fresh] = snapshots.try_emplace(folder);
  if (fresh || Clock::now() - found->second.taken > keep) found->second = look(folder);
  return found->second;
}

void* start(fuse_conn_info*, fuse_config* config) {
  config->use_ino = 1;
  // What is kept is kept here, not in the kernel, and for as long as was said.
  config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
  return nullptr;
}

int get_attributes(const char* path, struct stat* state, fuse_file_info* file) {
  if (file && (file->flags & O_ACCMODE) != O_RDONLY) return outcome(fstat(static_cast<int>(file->fh), state));
  if (std::strcmp(path, "/") == 0) return outcome(lstat(backing.c_str(), state));
  std::lock_guard lock(mutex);
  const Snapshot& snapshot = known(folder_of(path));
  auto entry = snapshot.entries.find(std::filesystem::path(path).filename());
  if (entry == snapshot.entries.end()) return -ENOENT;
  *state = entry->second;
  return 0;
}

int list(const char* path, void* buffer, fuse_fill_dir_t fill, off_t, fuse_file_info*, fuse_readdir_flags) {
  std::lock_guard lock(mutex);
  if (!keeps_listings) snapshots.erase(path);
  for (const auto& [name, state] : known(path).entries)
    fill(buffer, name.c_str(), &state, 0, static_cast<fuse_fill_dir_flags>(0));
  return 0;
}

int keep_open(const char* path, int descriptor, fuse_file_info* file) {
  if (descriptor < 0) return -errno;
  file->fh = static_cast<std::uint64_t>(descriptor);
  if ((file->flags & O_ACCMODE) != O_RDONLY) forget(path);
  return 0;
}
int create(const char* path, mode_t mode, fuse_file_info* file) {
  return keep_open(path, open(real(path).c_str(), file->flags, mode), file);
}
int open_file(const char* path, fuse_file_info* file) {
  return keep_open(path, open(real(path).c_str(), file->flags), file);
}
void take_time(std::size_t bytes) {
  if (bytes_per_second > 0)
    std::this_thread::sleep_for(std::chrono::duration<double>(static_cast<double>(bytes) / bytes_per_second));
}
int read_file(const char*, char* buffer, std::size_t bytes, off_t offset, fuse_file_info* file) {
  ssize_t got = pread(static_cast<int>(file->fh), buffer, bytes, offset);
  if (got > 0) take_time(static_cast<std::size_t>(got));
  return got < 0 ? -errno : static_cast<int>(got);
}
int write_file(const char*, const char* buffer, std::size_t bytes, off_t offset, fuse_file_info* file) {
  take_time(bytes);
  ssize_t put = pwrite(static_cast<int>(file->fh), buffer, bytes, offset);
  return put < 0 ? -errno : static_cast<int>(put);
}
int flush(const char* path, fuse_file_info* file) {
  if ((file->flags & O_ACCMODE) != O_RDONLY) forget(path);
  return 0;
}
int release(const char*, fuse_file_info* file) { return outcome(close(static_cast<int>(file->fh))); }
int synchronise(const char*, int, fuse_file_info* file) { return outcome(fsync(static_cast<int>(file->fh))); }

int change(const char* path, int result) {
  forget(path);
  return outcome(result);
}
int truncate_file(const char* path, off_t bytes, fuse_file_info*) {
  return change(path, truncate(real(path).c_str(), bytes));
}
int make_folder(const char* path, mode_t mode) { return change(path, mkdir(real(path).c_str(), mode)); }
int remove_file(const char* path) { return change(path, unlink(real(path).c_str())); }
int remove_folder(const char* path) { return change(path, rmdir(real(path).c_str())); }
int rename_file(const char* from, const char* to, unsigned) {
  forget(from);
  return change(to, rename(real(from).c_str(), real(to).c_str()));
}
int set_times(const char* path, const timespec times[2], fuse_file_info*) {
  return change(path, utimensat(AT_FDCWD, real(path).c_str(), times, AT_SYMLINK_NOFOLLOW));
}

}  // namespace

int main(int count, char** words) {
  if (count != 7) {
    std::fprintf(stderr,
                 "usage: caching_mount BACKING POINT SOURCE KEEP_SECONDS BYTES_PER_SECOND KEEPS_LISTINGS\n");
    return 2;
  }
  backing = std::filesystem::absolute(words[1]);
  keep = std::chrono::duration<double>(std::atof(words[4]));
  bytes_per_second = std::atof(words[5]);
  keeps_listings = std::atoi(words[6]);
  fuse_operations operations{};
  operations.init = start;
  operations.getattr = get_attributes;
  operations.readdir = list;
  operations.create = create;
  operations.open = open_file;
  operations.read = read_file;
  operations.write = write_file;
  operations.flush = flush;
  operations.release = release;
  operations.fsync = synchronise;
  operations.truncate = truncate_file;
  operations.mkdir = make_folder;
  operations.unlink = remove_file;
  operations.rmdir = remove_folder;
  operations.rename = rename_file;
  operations.utimens = set_times;
  std::string options = std::string("fsname=") + words[3] + ",subtype=caching";
  char* arguments[] = {words[0], words[2], const_cast<char*>("-f"), const_cast<char*>("-o"), options.data()};
  return fuse_main(5, arguments, &operations, nullptr);
}
