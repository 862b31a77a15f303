// Calls on an open file that move no bytes through the guest: truncation, fsync, mappings.
#pragma once
#include <sys/mman.h>

#include <type_traits>

#include "injector/files/descriptor_call.h"
#include "injector/files/io.h"
#include "injector/streams/exchange_call.h"

namespace ddpscope::injector {

// What a call says of a file, in the words of the FileIo payload.
struct FileCall {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t next = 0;
  std::uint32_t count = 1;
};

trace::OpenRecord begin_file_call(Call call, int fd, const FileCall& what);
void end_file_call(const trace::OpenRecord& record, int error);

template <Call call, class RealCall>
inline int recorded_file_call(int fd, const FileCall& what, RealCall real_call) {
  static_assert(kIsFileIo<call>);
  if (passes_by(descriptor(fd))) return real_call();
  trace::OpenRecord record = begin_file_call(call, fd, what);
  int result = real_call();
  end_file_call(record, result == -1 ? errno : 0);
  return result;
}

// Of the file behind `fd`; remembered until it is unmapped.
void note_mapping(int fd, const void* address);
// The file mapped at this address, 0 for none; `forget` when it is about to be unmapped.
enum class Mapping : bool { kStays, kEnds };
std::uint32_t mapped_file(const void* address, Mapping then);
trace::OpenRecord begin_mapping_call(Call call, const void* address, std::size_t bytes, Mapping then);

// Memory that processes may tell each other things through, whatever the file is for: it is announced even if
// nothing else of it is recorded.
trace::OpenRecord begin_shared_mapping(Call call, int fd, const FileCall& what);

template <Call call, class RealCall>
inline void* recorded_map(int fd, std::size_t bytes, int protection, int flags, off64_t offset,
                          RealCall real_call) {
  static_assert(kIsFileIo<call>);
  bool shares = flags & MAP_SHARED && protection & PROT_WRITE;
  bool passes = passes_by(descriptor(fd));
  if ((flags & MAP_ANONYMOUS) || (passes && !shares)) {
    void* address = real_call();
    if (shares && address != MAP_FAILED) note_anonymous_memory(address);
    return address;
  }
  FileCall what{place(offset), bytes, static_cast<std::uint64_t>(flags),
                static_cast<std::uint32_t>(protection)};
  trace::OpenRecord record;
  if (!passes) record = begin_file_call(call, fd, what);
  if (shares && !record) record = begin_shared_mapping(call, fd, what);
  void* address = real_call();
  end_file_call(record, address == MAP_FAILED ? errno : 0);
  if (record && address != MAP_FAILED) note_mapping(fd, address);
  return address;
}

template <Call call, class RealCall>
inline int recorded_mapping_call(void* address, std::size_t bytes, Mapping then, RealCall real_call) {
  static_assert(kIsFileIo<call>);
  trace::OpenRecord record = begin_mapping_call(call, address, bytes, then);
  int result = real_call();
  end_file_call(record, result == -1 ? errno : 0);
  return result;
}

}  // namespace ddpscope::injector
