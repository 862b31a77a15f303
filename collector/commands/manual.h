// What --help tells, for other readers: made from the same declarations of commands and options.
#pragma once
#include <CLI/App.hpp>
#include <string>

namespace ddpscope::commands {

std::string findings_table();                          // Markdown, as the README has it
std::string man_page(const CLI::App& program);         // ddpscope(1), roff
std::string bash_completion(const CLI::App& program);  // a script to be sourced

}  // namespace ddpscope::commands
