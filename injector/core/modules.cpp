// Modules by the dynamic linker's own lock-free index. dladdr would wait for a dlopen in another thread,
// which may be waiting for this one.
#include "injector/core/modules.h"

#include <dlfcn.h>
#include <link.h>

#include "injector/core/process.h"
#include "injector/core/text_lines.h"

namespace ddpscope::injector {
namespace {

// A line of /proc/self/maps: "START-END PERMISSIONS OFFSET DEVICE INODE   PATH" (proc(5)).
struct Search {
  std::uintptr_t start;
  trace::FileWriter* file;
  std::uint32_t id;
};

bool take_path(const char* line, std::size_t bytes, void* argument) {
  auto* search = static_cast<Search*>(argument);
  const char* end = line + bytes;
  if (parse_hex(line, end) != search->start) return true;
  const auto* path = static_cast<const char*>(memchr(line, '/', bytes));
  if (path) search->id = this_thread.writer.intern(*search->file, path, static_cast<std::size_t>(end - path));
  return false;
}

}  // namespace

bool find_module(std::uintptr_t address, Module* module) {
  dl_find_object object;
  if (_dl_find_object(reinterpret_cast<void*>(address), &object) != 0) return false;
  module->start = reinterpret_cast<std::uintptr_t>(object.dlfo_map_start);
  module->load_bias = object.dlfo_link_map->l_addr;
  module->identity = object.dlfo_link_map;
  return true;
}

std::uint32_t module_path(trace::FileWriter& file, const Module& module) {
  std::uint64_t hash = (module.start ^ 0x30D) * 0x9E3779B97F4A7C15u;
  hash = (hash ^ reinterpret_cast<std::uintptr_t>(module.identity)) * 0x9E3779B97F4A7C15u;
  trace::FileWriter::Known* place = file.find_known(hash ^ hash >> 32);
  std::uint32_t id = place ? place->id.load(std::memory_order_acquire) : 0;
  if (id) return id;
  Search search{module.start, &file, 0};
  for_each_line("/proc/self/maps", take_path, &search);
  if (place) place->id.store(search.id, std::memory_order_release);
  return search.id;
}

}  // namespace ddpscope::injector
