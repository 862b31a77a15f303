#include "collector/commands/manual.h"

#include <fmt/format.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <vector>

#include "collector/findings/catalogue.h"
#include "ddpscope_version.h"

namespace ddpscope::commands {
namespace {

constexpr const char* kExamples = R"(.SH EXAMPLES
.nf
ddpscope run \-o trace \-\- torchrun \-\-nproc_per_node 8 train.py
ddpscope report trace
ddpscope explain skipped\-barrier
ddpscope view trace
.fi
)";
constexpr const char* kExit = R"(.SH EXIT STATUS
.TP
0
done; for \fBreport\fR: nothing found at or above \fB\-\-fail\-on\fR
.TP
1
findings; for \fBstatus\fR: the job is stuck
.TP
2
cannot run, or input that cannot be read: one line says what, a second one what to do
.PP
.B run
returns the exit code of the job, 128 and the number of a signal that ended it.
)";

// Hyphens that are typed, backslashes, and no request at the start of a line.
std::string roff(std::string_view text) {
  std::string out = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (char c : text) out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  return out;
}

std::vector<const CLI::Option*> shown_options(const CLI::App& command) {
  std::vector<const CLI::Option*> shown;
  for (const CLI::Option* option : command.get_options())
    if (!option->get_group().empty()) shown.push_back(option);
  return shown;
}

std::vector<const CLI::App*> shown_commands(const CLI::App& program) {
  std::vector<const CLI::App*> shown;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) shown.push_back(command);
  return shown;
}

// The words between which CLI::IsMember lets one choose: "{text,json}" is how it describes itself.
std::string choices(const CLI::Option& option) {
  std::string type = option.get_type_name();
  std::size_t open = type.find('{'), close = type.find('}');
  if (open == std::string::npos || close == std::string::npos) return "";
  std::string words = type.substr(open + 1, close - open - 1);
  for (char& c : words)
    if (c == ',') c = ' ';
  return words;
}

bool takes_a_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// What stands for a value: FILE, SECONDS, ... Empty for positionals, which have a name.
std::string value_name(const CLI::Option& option) {
  std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

std::string man_option(const CLI::Option& option) {
  std::string name = "\\fB" + roff(option.get_name(option.get_positional(), true)) + "\\fR";
  std::string value = choices(option);
  if (value.empty() && takes_a_value(option)) value = value_name(option);
  if (!value.empty()) name += " \\fI" + roff(value) + "\\fR";
  return ".TP\n" + name + "\n" + roff(option.get_description()) + "\n";
}

std::string man_command(const CLI::App& command) {
  std::string text =
      fmt::format(".SS ddpscope {}\n{}\n", roff(command.get_name()), roff(command.get_description()));
  for (const CLI::Option* option : shown_options(command)) text += man_option(*option);
  return text;
}

std::string words_of_options(const CLI::App& command) {
  std::string words;
  for (const CLI::Option* option : shown_options(command))
    if (!option->get_positional()) words += (words.empty() ? "" : " ") + option->get_name();  // the long one
  return words;
}

std::string slugs() {
  std::string words;
  for (const findings::CatalogueRow& row : findings::catalogue())
    words += (words.empty() ? "" : " ") + std::string(row.slug);
  return words;
}

// What bash's compgen offers for a value; empty: nothing can be known of it.
std::string offer(const CLI::Option& option) {
  const std::string value = value_name(option);
  std::string words = value == "SLUG" || value == "FINDING" ? slugs() : choices(option);
  if (!words.empty()) return fmt::format("-W '{}'", words);
  return value == "FILE" ? "-f" : value == "FOLDER" ? "-d" : value == "COMMAND" ? "-c" : "";
}

// "command/--option) words ;;" for options that take a value.
std::string cases_of_values(const CLI::App& command) {
  std::string cases;
  for (const CLI::Option* option : shown_options(command)) {
    if (!takes_a_value(*option)) continue;
    std::string pattern;
    for (const std::string& name : option->get_lnames())
      pattern += fmt::format("{}{}/--{}", pattern.empty() ? "" : "|", command.get_name(), name);
    for (const std::string& name : option->get_snames())
      pattern += fmt::format("{}{}/-{}", pattern.empty() ? "" : "|", command.get_name(), name);
    if (pattern.empty()) continue;
    std::string offered = offer(*option);
    cases += offered.empty() ? fmt::format("    {}) COMPREPLY=(); return ;;\n", pattern)
                             : fmt::format("    {}) COMPREPLY=($(compgen {} -- \"$word\")); return ;;\n",
                                           pattern, offered);
  }
  return cases;
}

}  // namespace

std::string findings_table() {
  std::string table = "| finding | in one sentence | severity | works on |\n|---|---|---|---|\n";
  for (const findings::CatalogueRow& row : findings::catalogue())
    table +=
        fmt::format("| [`{0}`](docs/findings/{0}.md) | {1} | {2}{3}{4} | {5} |\n", row.slug, row.sentence,
                    name_of(row.severity), row.otherwise.empty() ? "" : ", ", row.otherwise, row.works_on);
  return table;
}

std::string man_page(const CLI::App& program) {
  std::string text =
      fmt::format(".TH DDPSCOPE 1 \"\" \"ddpscope {}\" \"User Commands\"\n", roff(DDPSCOPE_VERSION_TEXT));
  text += ".SH NAME\nddpscope \\- finds the bugs of distributed training jobs from outside the program\n";
  text += ".SH SYNOPSIS\n.B ddpscope\n\\fICOMMAND\\fR [\\fIOPTION\\fR...] [\\fIARGUMENT\\fR...]\n";
  text += ".SH DESCRIPTION\n" + roff(program.get_description()) + "\n";
  text += ".SH OPTIONS\n";
  for (const CLI::Option* option : shown_options(program)) text += man_option(*option);
  text += ".SH COMMANDS\n";
  for (const CLI::App* command : shown_commands(program)) text += man_command(*command);
  text += ".PP\n\\fBddpscope\\-viewer\\fR is the program behind \\fBddpscope view\\fR, and takes the same.\n";
  return text + kExit + kExamples;
}

std::string bash_completion(const CLI::App& program) {
  std::string commands, options, values;
  for (const CLI::App* command : shown_commands(program)) {
    commands += (commands.empty() ? "" : " ") + command->get_name();
    options += fmt::format("    {}) options='{}' ;;\n", command->get_name(), words_of_options(*command));
    values += cases_of_values(*command);
  }
  constexpr std::string_view kScript = R"bash(# bash completion of ddpscope, made from its command table
_ddpscope() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} options=''
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '@COMMANDS@' -- "$word"))
    return
  fi
  case $command/$before in
@VALUES@  esac
  case $command in
@OPTIONS@  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  elif [ "$command" = explain ]; then
    COMPREPLY=($(compgen -W '@FINDINGS@' -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}
complete -o filenames -F _ddpscope ddpscope
_ddpscope_viewer() {
  local COMP_WORDS=(ddpscope view "${COMP_WORDS[@]:1}") COMP_CWORD=$((COMP_CWORD + 1))
  _ddpscope
}
complete -o filenames -F _ddpscope_viewer ddpscope-viewer
)bash";
  std::string script(kScript);
  auto fill = [&](std::string_view mark, const std::string& text) {
    script.replace(script.find(mark), mark.size(), text);
  };
  fill("@COMMANDS@", commands + " " + words_of_options(program));
  fill("@VALUES@", values);
  fill("@OPTIONS@", options);
  fill("@FINDINGS@", slugs());
  return script;
}

}  // namespace ddpscope::commands
