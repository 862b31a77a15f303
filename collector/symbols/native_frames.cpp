// Asks elfutils; answers are remembered.
#include "collector/symbols/native_frames.h"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <unordered_map>

namespace ddpscope::symbols {
namespace {

// Only what lies on this machine: no debuginfod, which would ask the network.
char* debug_path = nullptr;
const Dwfl_Callbacks kCallbacks = {dwfl_build_id_find_elf, dwfl_standard_find_debuginfo,
                                   dwfl_offline_section_address, &debug_path};

// Without the arguments: they tell a reader nothing that the line does not.
std::string without_arguments(std::string name) {
  constexpr std::string_view kUnnamed = "(anonymous namespace)";
  constexpr std::string_view kCallOperator = "operator()";
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>') --depth;
    if (name[i] != '(' || depth != 0) continue;
    if (name.compare(i, kUnnamed.size(), kUnnamed) == 0)
      i += kUnnamed.size() - 1;
    else if (std::string_view(name).substr(0, i + 2).ends_with(kCallOperator))
      ++i;
    else
      return name.substr(0, i);
  }
  return name;
}

std::string name_of(Dwarf_Die* function) {
  Dwarf_Attribute attribute;
  for (unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name})
    if (dwarf_attr_integrate(function, name, &attribute)) return demangled(dwarf_formstring(&attribute));
  return demangled(dwarf_diename(function));
}

struct Place {
  const char* file = nullptr;
  int line = 0;
};

// Where an inlined function was called from.
Place call_place(Dwarf_Die* unit, Dwarf_Die* inlined) {
  Place place;
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &value) == 0)
    place.line = static_cast<int>(value);
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &value) == 0 &&
      dwarf_getsrcfiles(unit, &files, &count) == 0 && value < count)
    place.file = dwarf_filesrc(files, value, nullptr, nullptr);
  return place;
}

std::string frame_text(const Place& place, const std::string& function) {
  return fmt::format("{}:{} {}", std::filesystem::path(place.file ? place.file : "??").filename().native(),
                     place.line, function);
}

// The scopes in which the code lies, innermost first. dwarf_getscopes goes on from an inlined function to
// what encloses its definition: what it was inlined into is found by going up from the innermost.
int scopes_at(Dwarf_Die* unit, Dwarf_Addr address, Dwarf_Die** scopes) {
  Dwarf_Die* defined = nullptr;
  if (dwarf_getscopes(unit, address, &defined) <= 0) return 0;
  Dwarf_Die innermost = defined[0];
  std::free(defined);
  return dwarf_getscopes_die(&innermost, scopes);
}

// The function at `address` and those inlined into it there, from the debug information of its unit.
std::vector<std::string> frames_from_dwarf(Dwfl_Module* module, Dwarf_Addr address) {
  std::vector<std::string> frames;
  Dwfl_Line* source = dwfl_module_getsrc(module, address);
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = source ? dwfl_module_addrdie(module, address, &bias) : nullptr;
  if (!unit) return frames;
  Place place;
  place.file = dwfl_lineinfo(source, nullptr, &place.line, nullptr, nullptr, nullptr);
  Dwarf_Die* scopes = nullptr;
  int count = scopes_at(unit, address - bias, &scopes);
  for (int i = 0; i < count; ++i) {
    int tag = dwarf_tag(&scopes[i]);
    if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
    frames.push_back(frame_text(place, name_of(&scopes[i])));
    if (tag == DW_TAG_subprogram) break;
    place = call_place(unit, &scopes[i]);
  }
  std::free(scopes);
  return frames;
}

std::string frame_from_symbol(Dwfl_Module* module, Dwarf_Addr address, std::string_view path,
                              std::uint64_t offset) {
  std::string file = std::filesystem::path(path).filename().native();
  GElf_Off distance = 0;
  GElf_Sym symbol;
  const char* name =
      module ? dwfl_module_addrinfo(module, address, &distance, &symbol, nullptr, nullptr, nullptr) : nullptr;
  return name ? fmt::format("{} {}+{:#x}", file, demangled(name), distance)
              : fmt::format("{}+{:#x}", file, offset);
}

struct EndDwfl {
  void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
};

struct Module {
  std::unique_ptr<Dwfl, EndDwfl> dwfl;
  Dwfl_Module* module = nullptr;
  Dwarf_Addr bias = 0;  // where elfutils put it, minus what its file says
  std::unordered_map<std::uint64_t, std::vector<std::string>> known;
};

std::string build_id_of(Dwfl_Module* module) {
  const unsigned char* bytes = nullptr;
  GElf_Addr address = 0;
  int count = dwfl_module_build_id(module, &bytes, &address);
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

Module load(const std::string& path, std::string_view build_id) {
  Module loaded;
  loaded.dwfl.reset(dwfl_begin(&kCallbacks));
  if (!loaded.dwfl) return loaded;
  dwfl_report_begin(loaded.dwfl.get());
  loaded.module = dwfl_report_offline(loaded.dwfl.get(), path.c_str(), path.c_str(), -1);
  dwfl_report_end(loaded.dwfl.get(), nullptr, nullptr);
  if (loaded.module) dwfl_module_getelf(loaded.module, &loaded.bias);
  if (loaded.module && build_id_of(loaded.module) != build_id) loaded.module = nullptr;
  return loaded;
}

}  // namespace

std::string demangled(const char* name) {
  if (!name) return "??";
  int status = 0;
  std::unique_ptr<char, decltype(&std::free)> plain(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                    &std::free);
  return plain ? without_arguments(plain.get()) : name;
}

struct NativeFrames::Modules {
  std::map<std::pair<std::string, std::string>, Module> by_path_and_build;
};

NativeFrames::NativeFrames() : modules_(std::make_unique<Modules>()) {}
NativeFrames::~NativeFrames() = default;

std::vector<std::string> NativeFrames::at(std::string_view path, std::string_view build_id,
                                          std::uint64_t offset) {
  std::pair key{std::string(path), std::string(build_id)};
  auto found = modules_->by_path_and_build.find(key);
  if (found == modules_->by_path_and_build.end())
    found = modules_->by_path_and_build.emplace(key, load(key.first, build_id)).first;
  Module& module = found->second;
  auto [known, fresh] = module.known.try_emplace(offset);
  if (!fresh) return known->second;
  if (module.module) known->second = frames_from_dwarf(module.module, module.bias + offset);
  if (known->second.empty())
    known->second = {frame_from_symbol(module.module, module.bias + offset, path, offset)};
  return known->second;
}

}  // namespace ddpscope::symbols
