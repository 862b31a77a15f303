// Asks elfutils; answers are remembered.
#include "collector/symbols/native_frames.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "collector/symbols/code_scopes.h"
#include "collector/symbols/function_names.h"

namespace ddpscope::symbols {
namespace {

constexpr std::string_view kCallOperator = "operator()";

// Only what lies on this machine: no debuginfod, which would ask the network.
char* debug_path = nullptr;
const Dwfl_Callbacks kCallbacks = {dwfl_build_id_find_elf, dwfl_standard_find_debuginfo,
                                   dwfl_offline_section_address, &debug_path};

std::string name_of(Dwarf_Die* function);

// A lambda often has no name but operator(): what it is defined in, up to the function that has one.
std::string name_of_lambda(Dwarf_Die* function) {
  Dwarf_Attribute attribute;
  Dwarf_Die origin = *function;
  while (dwarf_attr(&origin, DW_AT_abstract_origin, &attribute) && dwarf_formref_die(&attribute, &origin)) {
  }
  Dwarf_Die* scopes = nullptr;
  int count = dwarf_getscopes_die(&origin, &scopes);
  std::string inner;
  for (int i = 1; i < count && dwarf_tag(&scopes[i]) != DW_TAG_compile_unit; ++i) {
    int tag = dwarf_tag(&scopes[i]);
    const char* name = dwarf_diename(&scopes[i]);
    if (tag == DW_TAG_lexical_block || (name && std::string_view(name) == kCallOperator)) continue;
    inner = fmt::format("{}{}{}",
                        tag == DW_TAG_subprogram ? name_of(&scopes[i])
                        : name                   ? name
                                                 : "{lambda}",
                        inner.empty() ? "" : "::", inner);
    if (tag == DW_TAG_subprogram) break;
  }
  std::free(scopes);
  return inner.empty() ? std::string(kCallOperator) : inner;
}

std::string name_of(Dwarf_Die* function) {
  Dwarf_Attribute attribute;
  for (unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name})
    if (dwarf_attr_integrate(function, name, &attribute)) return demangled(dwarf_formstring(&attribute));
  std::string name = demangled(dwarf_diename(function));
  return name.starts_with(kCallOperator) ? name_of_lambda(function) : name;
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

// The function at `address` and those inlined into it there.
std::vector<std::string> frames_from_dwarf(CodeScopes& scopes, Dwarf_Addr address) {
  std::vector<std::string> frames;
  CodeScopes::Scopes found = scopes.at(address);
  if (!found.line) return frames;
  Place place;
  place.file = dwarf_linesrc(found.line, nullptr, nullptr);
  dwarf_lineno(found.line, &place.line);
  for (Dwarf_Die& function : found.functions) {
    frames.push_back(frame_text(place, name_of(&function)));
    place = call_place(&found.unit, &function);
  }
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
  std::optional<CodeScopes> scopes;
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

// What was a library when the job ran may be a pipe by now, which would wait for somebody to write to it. -1.
int open_file(const std::string& path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  if (file < 0 || (::fstat(file, &status) == 0 && S_ISREG(status.st_mode))) return file;
  ::close(file);
  return -1;
}

Module load(const std::string& path, std::string_view build_id) {
  Module loaded;
  loaded.dwfl.reset(dwfl_begin(&kCallbacks));
  if (!loaded.dwfl) return loaded;
  int file = open_file(path);
  if (file < 0) return loaded;
  dwfl_report_begin(loaded.dwfl.get());
  loaded.module = dwfl_report_offline(loaded.dwfl.get(), path.c_str(), path.c_str(), file);
  if (!loaded.module) ::close(file);  // else elfutils does
  dwfl_report_end(loaded.dwfl.get(), nullptr, nullptr);
  if (loaded.module) dwfl_module_getelf(loaded.module, &loaded.bias);
  if (loaded.module && build_id_of(loaded.module) != build_id) loaded.module = nullptr;
  if (loaded.module) loaded.scopes.emplace(loaded.module);
  return loaded;
}

}  // namespace

struct NativeFrames::Modules {
  std::map<std::pair<std::string, std::string>, Module> by_path_and_build;
};

NativeFrames::NativeFrames() : modules_(std::make_unique<Modules>()) {}
NativeFrames::~NativeFrames() = default;

std::vector<std::string> NativeFrames::at(std::string_view path, std::string_view build_id,
                                          std::uint64_t offset) {
  static std::mutex one_at_a_time;  // libdw and what it loads keep things for the whole process
  std::lock_guard lock(one_at_a_time);
  std::pair key{std::string(path), std::string(build_id)};
  auto found = modules_->by_path_and_build.find(key);
  if (found == modules_->by_path_and_build.end())
    found = modules_->by_path_and_build.emplace(key, load(key.first, build_id)).first;
  Module& module = found->second;
  auto [known, fresh] = module.known.try_emplace(offset);
  if (!fresh) return known->second;
  if (module.module) known->second = frames_from_dwarf(*module.scopes, module.bias + offset);
  if (known->second.empty())
    known->second = {frame_from_symbol(module.module, module.bias + offset, path, offset)};
  return known->second;
}

}  // namespace ddpscope::symbols
