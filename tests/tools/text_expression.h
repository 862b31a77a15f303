// $name and ${expression} in a line of a text trace.
#pragma once
#include <map>
#include <string>
#include <string_view>

namespace ddpscope::tests {

using Variables = std::map<std::string, std::string, std::less<>>;

// The value of + - * / // % ( ) over numbers and variables; // rounds down. Throws Mistake.
double evaluate(std::string_view expression, const Variables& variables);

// `line` with $name, ${expression} and $$ replaced; a variable may itself contain them. Throws Mistake.
std::string substitute(std::string_view line, const Variables& variables);

// As substitute() writes numbers: whole ones without a point, others with nine digits behind it.
std::string number_text(double value);

}  // namespace ddpscope::tests
