// The table of faults as data: looking names up, printing the list.
#include "faults.h"

#include <fmt/format.h>

#include <iterator>
#include <stdexcept>

namespace reference_trainer {
namespace {

struct FaultRow {
  Fault id;
  std::string_view name, finding, unit, sentence;
};

struct TwinRow {
  Twin id;
  std::string_view name, of, sentence;
};

constexpr FaultRow kFaults[] = {
#define FAULT(id, name, finding, unit, sentence) {Fault::id, name, finding, unit, sentence},
#include "faults.def"
};

constexpr TwinRow kTwins[] = {
#define TWIN(id, name, of, sentence) {Twin::id, name, of, sentence},
#include "faults.def"
};

bool names(const FaultRow& row, std::string_view name) {
  return row.name == name || row.name.substr(0, row.name.find('/')) == name;
}

}  // namespace

void Faults::select_fault(std::string_view name) {
  for (const FaultRow& row : kFaults) {
    if (!names(row, name)) continue;
    fault_ = row.id;
    return;
  }
  throw std::invalid_argument(fmt::format("no fault is called {}; --list-faults prints them", name));
}

void Faults::select_twin(std::string_view name) {
  for (const TwinRow& row : kTwins) {
    if (row.name != name) continue;
    twin_ = row.id;
    return;
  }
  throw std::invalid_argument(fmt::format("no twin is called {}; --list-faults prints them", name));
}

std::string list_faults(bool json) {
  const char* const fault_format =
      json ? R"(    {{"name": "{}", "finding": "{}", "unit": "{}", "sentence": "{}"}})"
           : "fault\t{}\t{}\t{}\t{}\n";
  const char* const twin_format =
      json ? R"(    {{"name": "{}", "of": "{}", "sentence": "{}"}})" : "twin\t{}\t{}\t-\t{}\n";
  const char* const separator = json ? ",\n" : "";
  std::string faults, twins;
  for (const FaultRow& row : kFaults) {
    faults += fmt::format(fmt::runtime(fault_format), row.name, row.finding, row.unit, row.sentence);
    if (&row != std::end(kFaults) - 1) faults += separator;
  }
  for (const TwinRow& row : kTwins) {
    twins += fmt::format(fmt::runtime(twin_format), row.name, row.of, row.sentence);
    if (&row != std::end(kTwins) - 1) twins += separator;
  }
  if (!json) return faults + twins;
  return fmt::format("{{\n  \"faults\": [\n{}\n  ],\n  \"twins\": [\n{}\n  ]\n}}\n", faults, twins);
}

}  // namespace reference_trainer
