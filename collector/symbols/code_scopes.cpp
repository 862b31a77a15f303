// Units and functions are listed once, when the first address of theirs is asked for.
#include "collector/symbols/code_scopes.h"

#include <dwarf.h>

#include <algorithm>

namespace ddpscope::symbols {
namespace {

constexpr int kDeepest = 64;  // of nested definitions

template <class Visit>
void for_each_child(Dwarf_Die* parent, Visit&& visit) {
  Dwarf_Die child;
  if (dwarf_child(parent, &child) != 0) return;
  do visit(&child);
  while (dwarf_siblingof(&child, &child) == 0);
}

template <class Visit>
void for_each_range(Dwarf_Die* owner, Visit&& visit) {
  Dwarf_Addr base = 0, begin = 0, end = 0;
  for (std::ptrdiff_t offset = 0; (offset = dwarf_ranges(owner, offset, &base, &begin, &end)) > 0;)
    visit(begin, end);
}

// What may hold the definition of a function.
bool may_define(int tag) {
  switch (tag) {
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
      return true;
    default:
      return false;
  }
}

// Appends from the innermost on what is inlined at `address` below `scope`.
void add_inlined(Dwarf_Die* scope, Dwarf_Addr address, std::vector<Dwarf_Die>& found, int depth = 0) {
  if (depth > kDeepest) return;
  for_each_child(scope, [&](Dwarf_Die* child) {
    int tag = dwarf_tag(child);
    bool inlined = tag == DW_TAG_inlined_subroutine;
    if ((!inlined && tag != DW_TAG_lexical_block) || dwarf_haspc(child, address) <= 0) return;
    add_inlined(child, address, found, depth + 1);
    if (inlined) found.push_back(*child);
  });
}

// Where all but lines lies in a file of its own (-gsplit-dwarf).
bool split_part_of(Dwarf_Die* unit, Dwarf_Die& split) {
  std::uint8_t type = 0;
  Dwarf_Die whole = {};
  return dwarf_cu_info(unit->cu, nullptr, &type, &whole, &split, nullptr, nullptr, nullptr) == 0 &&
         type == DW_UT_skeleton && split.addr;
}

template <class List>
void list_functions(Dwarf_Die* scope, List& list, int depth = 0) {
  if (depth > kDeepest) return;
  for_each_child(scope, [&](Dwarf_Die* child) {
    int tag = dwarf_tag(child);
    if (!may_define(tag)) return;
    if (tag == DW_TAG_subprogram)
      for_each_range(child, [&](Dwarf_Addr begin, Dwarf_Addr end) { list.push_back({begin, end, *child}); });
    list_functions(child, list, depth + 1);
  });
}

}  // namespace

Dwarf_Die* CodeScopes::unit_of(Dwarf_Addr address, Dwarf_Addr& bias) {
  if (Dwarf_Die* unit = dwfl_module_addrdie(module_, address, &bias)) return unit;
  if (!units_known_) {
    Dwarf_Addr of_unit = 0;
    for (Dwarf_Die* unit = nullptr; (unit = dwfl_module_nextcu(module_, unit, &of_unit));)
      for_each_range(unit, [&](Dwarf_Addr begin, Dwarf_Addr end) {
        units_.push_back({begin + of_unit, end + of_unit, *unit});
      });
    units_known_ = true;
  }
  auto found = std::find_if(units_.begin(), units_.end(),
                            [&](const Code& unit) { return unit.begin <= address && address < unit.end; });
  if (found == units_.end()) return nullptr;
  dwfl_module_getdwarf(module_, &bias);
  return &found->owner;
}

const std::vector<CodeScopes::Code>& CodeScopes::functions_of(Dwarf_Die* unit) {
  auto [functions, fresh] = functions_.try_emplace(unit->addr);
  if (fresh) list_functions(unit, functions->second);
  return functions->second;
}

CodeScopes::Scopes CodeScopes::at(Dwarf_Addr address) {
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = unit_of(address, bias);
  Scopes found;
  if (!unit || !(found.line = dwarf_getsrc_die(unit, address - bias))) return found;
  found.unit = *unit;
  if (Dwarf_Die split; split_part_of(unit, split)) found.unit = split;
  for (const Code& function : functions_of(&found.unit)) {
    if (address - bias < function.begin || address - bias >= function.end) continue;
    Dwarf_Die owner = function.owner;
    add_inlined(&owner, address - bias, found.functions);
    found.functions.push_back(owner);
    break;
  }
  return found;
}

}  // namespace ddpscope::symbols
