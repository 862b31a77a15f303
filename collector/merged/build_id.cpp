// As elfutils reads it from the program's own file.
#include "collector/merged/build_id.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <libelf.h>
#include <unistd.h>

namespace ddpscope::merged {

std::string build_id() {
  std::string id;
  int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (file < 0) return id;
  elf_version(EV_CURRENT);
  if (Elf* elf = elf_begin(file, ELF_C_READ_MMAP, nullptr)) {
    const void* bytes = nullptr;
    if (ssize_t length = dwelf_elf_gnu_build_id(elf, &bytes); length > 0)
      id.assign(static_cast<const char*>(bytes), static_cast<std::size_t>(length));
    elf_end(elf);
  }
  ::close(file);
  return id;
}

}  // namespace ddpscope::merged
