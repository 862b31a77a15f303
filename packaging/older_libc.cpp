// What gcc 12's own libraries, made for glibc 2.36, ask of a libc that is older: packaging/root.sh puts it
// into the copies of them that programs are linked with. Nobody outside a program or library sees these
// names.
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstddef>

// libstdc++ asks whether it may do without atomic instructions (glibc 2.32). It never may.
extern "C" [[gnu::visibility("hidden")]] char __libc_single_threaded;
char __libc_single_threaded = 0;

// Of std::random_device (glibc 2.36).
extern "C" [[gnu::visibility("hidden")]] unsigned random_number() asm("arc4random");
extern "C" unsigned random_number() {
  unsigned number;
  if (getentropy(&number, sizeof(number)) != 0) abort();
  return number;
}

namespace {

struct Search {
  ElfW(Addr) address;
  dl_find_object* found;
};

int take_object(dl_phdr_info* object, std::size_t, void* argument) {
  auto* search = static_cast<Search*>(argument);
  bool is_here = false;
  void* exception_frames = nullptr;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    ElfW(Addr) start = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && search->address - start < segment.p_memsz) {
      is_here = true;
      search->found->dlfo_map_start = reinterpret_cast<void*>(start);
      search->found->dlfo_map_end = reinterpret_cast<void*>(start + segment.p_memsz);
    }
    if (segment.p_type == PT_GNU_EH_FRAME) exception_frames = reinterpret_cast<void*>(start);
  }
  if (!is_here) return 0;
  search->found->dlfo_eh_frame = exception_frames;
  return 1;
}

}  // namespace

// By it libgcc finds what an exception passes (glibc 2.35). libgcc reads the two addresses and the frames
// alone.
extern "C" [[gnu::visibility("hidden")]] int find_object(void* address,
                                                         dl_find_object* found) asm("_dl_find_object");
extern "C" int find_object(void* address, dl_find_object* found) {
  Search search{reinterpret_cast<ElfW(Addr)>(address), found};
  return dl_iterate_phdr(take_object, &search) == 1 && found->dlfo_eh_frame ? 0 : -1;
}
