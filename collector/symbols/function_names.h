// What a reader is told of a function's name.
#pragma once
#include <string>
#include <string_view>

namespace ddpscope::symbols {

// As in the source, without arguments and return type, for they tell a reader nothing that the line does not:
// "main::{lambda(int)#1}", "at::native::add<float>". What is not mangled stays as it is.
std::string demangled(const char* name);

// Likewise, of a name that is demangled already.
std::string without_arguments(std::string_view name);

}  // namespace ddpscope::symbols
