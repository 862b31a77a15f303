// Among the notes of the program, which is the first of what is loaded.
#include "collector/merged/build_id.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace ddpscope::merged {
namespace {

constexpr std::string_view kOwner("GNU\0", 4);

std::size_t padded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

std::string find_build_id(std::string_view notes, std::size_t align) {
  ElfW(Nhdr) head;
  while (notes.size() > sizeof(head)) {
    std::memcpy(&head, notes.data(), sizeof(head));
    std::size_t text = sizeof(head) + padded(head.n_namesz, align), end = text + padded(head.n_descsz, align);
    if (end > notes.size()) return "";
    if (head.n_type == NT_GNU_BUILD_ID && notes.substr(sizeof(head), head.n_namesz) == kOwner)
      return std::string(notes.substr(text, head.n_descsz));
    notes.remove_prefix(end);
  }
  return "";
}

int look_at_program(dl_phdr_info* info, std::size_t, void* found) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    std::string& id = *static_cast<std::string*>(found);
    if (part.p_type != PT_NOTE || !id.empty()) continue;
    id = find_build_id({reinterpret_cast<const char*>(info->dlpi_addr + part.p_vaddr), part.p_filesz},
                       std::max<std::size_t>(part.p_align, 4));
  }
  return 1;  // no library after it
}

}  // namespace

std::string build_id() {
  std::string id;
  dl_iterate_phdr(look_at_program, &id);
  return id;
}

}  // namespace ddpscope::merged
