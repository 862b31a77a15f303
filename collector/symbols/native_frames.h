// Native code addresses to source lines, by the debug information of the module on this machine.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ddpscope::symbols {

class NativeFrames {
 public:
  NativeFrames();
  ~NativeFrames();
  NativeFrames(const NativeFrames&) = delete;
  NativeFrames& operator=(const NativeFrames&) = delete;

  // The frames at `offset` (bytes from where the module was mapped first) of the file `module`, innermost
  // first: "FILE:LINE FUNCTION", one for each function inlined there. Without debug information "MODULE
  // FUNCTION+0xOFFSET" from the symbol table; without that, when the file is gone, or when it is no longer
  // the build that ran, "MODULE+0xOFFSET". `build_id`: of the module as it ran, in hexadecimal; if that is
  // empty the module had none, and the file must not have one either. Never empty. Several
  // threads may ask at once, each an object of its own. Limit: between builds without a build id there is no
  // telling.
  std::vector<std::string> at(std::string_view module, std::string_view build_id, std::uint64_t offset);

 private:
  struct Modules;
  std::unique_ptr<Modules> modules_;
};

}  // namespace ddpscope::symbols
