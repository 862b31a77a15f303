// Reading a merged file, whatever its bytes are: it ends, and stays inside them. Checksums are made right
// first: what they guard is to be read too.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "collector/merged/reader.h"
#include "tests/tools/merged_walk.h"

namespace {

volatile std::uint64_t seen;

void read(const std::vector<unsigned char>& bytes) {
  int fd = ::memfd_create("merged", MFD_CLOEXEC);
  if (fd < 0) return;
  bool written = ::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  if (written) {
    auto reader = ddpscope::merged::Reader::open("/proc/self/fd/" + std::to_string(fd));
    seen = seen + (reader ? ddpscope::tests::look_at_all(*reader) : reader.error().what.size());
  }
  ::close(fd);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<unsigned char> bytes(data, data + size);
  read(bytes);
  ddpscope::tests::repair_checksums(bytes);
  read(bytes);
  return 0;
}
