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
  // FUNCTION+0xOFFSET" from the symbol table, without that, or when the file is gone, "MODULE+0xOFFSET".
  // Never empty. Not for several threads at once. Limit: a module rebuilt since the run gives the new build's
  // lines.
  std::vector<std::string> at(std::string_view module, std::uint64_t offset);

 private:
  struct Modules;
  std::unique_ptr<Modules> modules_;
};

}  // namespace ddpscope::symbols
