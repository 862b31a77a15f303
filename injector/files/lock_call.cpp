// Records of locks.
#include "injector/files/lock_call.h"

#include "injector/files/meet.h"

namespace ddpscope::injector {

trace::OpenRecord begin_lock(Call call, int fd, int operation, std::uint64_t start) {
  trace::FileWriter* file = recorder(Weight::kFollows);
  OwnWork work(file);
  if (!work) return {};
  Opening* opening = known_opening(*file, fd);
  if (!opening) return {};
  trace::payload::FileLock payload{};
  payload.device = opening->device;
  payload.inode = opening->inode;
  payload.start = start;
  payload.file = opening->file;
  payload.fd = fd;
  payload.operation = operation;
  std::uint32_t stack = current_stack(*file);
  return this_thread.writer.open_in(*file, call, trace::Budget::kKept, &payload, sizeof(payload), now(*file),
                                    stack);
}

void end_lock(const trace::OpenRecord& record, int result) {
  auto* payload = results_in<trace::payload::FileLock>(record);
  if (!payload) return;
  if (result != 0) payload->error = errno;
  end(record);
}

}  // namespace ddpscope::injector
