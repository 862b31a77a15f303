// Open file description locks: of a file, not of a process, and so not lost when another descriptor is
// closed.
#include "collector/commands/folder_use.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace ddpscope::commands {
namespace {

constexpr const char* kName = ".lock";
// A folder may come from somebody else, and hold a link to another file, or a pipe, under this name.
constexpr int kItself = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

enum Byte : off_t { kRecording, kWatching, kLooking };  // the first ones of the file

struct flock lock_of(short type, Byte byte) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

// True if the lock is held now; else errno tells: EAGAIN or EACCES if somebody else holds it.
bool set_lock(int fd, int command, short type, Byte byte) {
  struct flock lock = lock_of(type, byte);
  int done = -1;
  do done = ::fcntl(fd, command, &lock);
  while (done != 0 && errno == EINTR);
  return done == 0;
}

// Whether somebody else holds it.
bool is_taken(int fd, Byte byte) {
  struct flock lock = lock_of(F_WRLCK, byte);
  return ::fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool is_alone(int fd, Byte byte) {
  return set_lock(fd, F_OFD_SETLK, F_WRLCK, byte) || (errno != EAGAIN && errno != EACCES);
}

// The one before may have removed it since it was opened.
bool is_removed(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && status.st_nlink == 0;
}

}  // namespace

FolderUse::FolderUse(const std::filesystem::path& folder) : path_(folder / kName) {
  do {
    if (fd_ >= 0) ::close(fd_);
    fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | kItself, 0600);
    if (fd_ < 0) return;
    first_ = is_alone(fd_, kRecording);
    if (first_) write_note("");  // a run that was killed leaves its own
    set_lock(fd_, F_OFD_SETLKW, F_RDLCK, kRecording);
  } while (is_removed(fd_));
}

bool FolderUse::is_in_use(const std::filesystem::path& folder) {
  int fd = ::open((folder / kName).c_str(), O_RDONLY | kItself);
  if (fd < 0) return false;
  bool taken = is_taken(fd, kRecording);
  ::close(fd);
  return taken;
}

FolderUse::~FolderUse() { give_up(); }

void FolderUse::give_up() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

// Gives back its own part before it asks: of two that end together one at least finds nobody.
bool FolderUse::leave() {
  set_lock(fd_, F_OFD_SETLK, F_UNLCK, kRecording);
  bool last = is_alone(fd_, kRecording);
  if (last && fd_ >= 0) ::unlink(path_.c_str());
  give_up();
  return last;
}

bool FolderUse::takes_watch() const { return is_alone(fd_, kWatching); }

bool FolderUse::is_looked_at() const { return fd_ >= 0 && is_taken(fd_, kLooking); }

std::string FolderUse::read_note() const {
  constexpr std::size_t kMost = 1 << 16;
  std::string note(kMost, '\0');
  ssize_t bytes = ::pread(fd_, note.data(), note.size(), 0);
  note.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return note;
}

void FolderUse::write_note(const std::string& note) const {
  // Cut off first: half a note is one that the next one does not know, and tells again.
  if (::ftruncate(fd_, 0) != 0 || ::pwrite(fd_, note.data(), note.size(), 0) < 0) return;
}

FolderLook::FolderLook(const std::filesystem::path& folder) : path_(folder / kName) {}

void FolderLook::ask() {
  if (fd_ >= 0 && !is_removed(fd_)) return;
  stop();
  fd_ = ::open(path_.c_str(), O_RDONLY | kItself);
  if (fd_ >= 0) set_lock(fd_, F_OFD_SETLK, F_RDLCK, kLooking);
}

void FolderLook::stop() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

}  // namespace ddpscope::commands
