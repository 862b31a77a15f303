// The executable or shared library that an address lies in.
#pragma once
#include <cstdint>

#include "trace/write/file_writer.h"

namespace ddpscope::injector {

struct Module {
  std::uintptr_t start;      // of its first mapping
  std::uintptr_t load_bias;  // address minus this is the address in the ELF file
  const void* identity;      // of this loading
};

// False: no code that the dynamic linker loaded. Takes no lock.
bool find_module(std::uintptr_t address, Module* module);

// String id of its path as the kernel knows it, asked for once. Must be called inside OwnWork.
std::uint32_t module_path(trace::FileWriter& file, const Module& module);

// String id of its build id in hexadecimal, read from its notes in memory (what the file holds by then may be
// another build); 0 without one. Likewise.
std::uint32_t module_build_id(trace::FileWriter& file, const Module& module);

}  // namespace ddpscope::injector
