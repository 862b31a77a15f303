// What a reader is told of a function's name.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace ddpscope::symbols {

// As in the source, without arguments and return type, for they tell a reader nothing that the line does not:
// "main::{lambda(int)#1}", "at::native::add<float>". What is not mangled stays as it is.
std::string demangled(const char* name);

// Likewise, of a name that is demangled already.
std::string without_arguments(std::string_view name);

// What templates are made of has no end: of a name that is longer than a reader looks at what stands
// innermost gives way first: "add<std::vector<…>, 4>", "add<…>".
std::string shortened(std::string_view name, std::size_t most = 160);
// Of a frame, "FILE:LINE FUNCTION", the function's name.
std::string shortened_frame(std::string_view frame);

}  // namespace ddpscope::symbols
