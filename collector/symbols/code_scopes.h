// The functions in which machine code lies, by a module's debug information.
#pragma once
#include <elfutils/libdwfl.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace ddpscope::symbols {

// elfutils' own look-ups leave two things out, which are looked for here: units of which no .debug_aranges
// tells where their code lies (clang writes none), and functions whose definition lies in another one while
// their code does not (lambdas, members of local classes).
class CodeScopes {
 public:
  explicit CodeScopes(Dwfl_Module* module) : module_(module) {}

  struct Scopes {
    Dwarf_Line* line = nullptr;        // null: unknown, as is all else
    Dwarf_Die unit = {};               // in which they lie
    std::vector<Dwarf_Die> functions;  // the innermost one inlined there first, what has the code last
  };
  // `address`: of the module as libdwfl placed it.
  Scopes at(Dwarf_Addr address);

 private:
  struct Code {
    Dwarf_Addr begin, end;
    Dwarf_Die owner;
  };
  Dwarf_Die* unit_of(Dwarf_Addr address, Dwarf_Addr& bias);
  const std::vector<Code>& functions_of(Dwarf_Die* unit);

  Dwfl_Module* module_;
  bool units_known_ = false;
  std::vector<Code> units_;                                       // in the order of the file
  std::unordered_map<const void*, std::vector<Code>> functions_;  // by unit
};

}  // namespace ddpscope::symbols
