// Streams given to descriptors, positions of streams.
#include "injector/files/stream_call.h"

#include "injector/files/meet.h"

namespace ddpscope::injector {

void note_stream(Call call, int fd, const char* mode) {
  trace::FileWriter* file = recorder(Weight::kFollows);
  OwnWork work(file);
  if (!work) return;
  Opening* opening = known_opening(*file, fd);
  if (!opening || !opening->kept) return;
  trace::payload::FileOpen payload{};
  payload.device = opening->device;
  payload.inode = opening->inode;
  payload.fd = fd;
  payload.flags = static_cast<std::uint32_t>(flags_of(mode) & O_ACCMODE);
  payload.file = opening->file;
  std::uint64_t ticks = now(*file);
  trace::ThreadWriter::close(*file, open_file_record(*file, call, trace::Budget::kKept, payload, ticks),
                             ticks);
}

std::uint64_t position_of(FILE* stream) {
  int saved = errno;
  off64_t position = ftello64(stream);
  errno = saved;
  return position < 0 ? kUnknownOffset : static_cast<std::uint64_t>(position);
}

}  // namespace ddpscope::injector
