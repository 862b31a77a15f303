// format_tables --check PAGE | --write PAGE: the tables of calls, payloads and health counters in
// docs/trace-format.md, made from the .def files. They begin at the marker and go to the end of the page.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "trace/calls.h"
#include "trace/fields.h"
#include "trace/health.h"

namespace {

using namespace ddpscope::trace;

constexpr const char* kMarker =
    "<!-- From here on made by format_tables: ninja format_page writes it anew. -->\n";

bool alike(const CallInfo& a, const CallInfo& b) {
  return a.operation == b.operation && a.payload == b.payload && a.budget == b.budget && a.since == b.since &&
         std::strcmp(a.sentence, b.sentence) == 0;
}

// Rows that follow each other and mean the same are one line.
void write_calls(std::ostream& out) {
  out << "## Calls\n\n| number and name | meaning | payload | budget | since |\n|---|---|---|---|---|\n";
  for (std::size_t i = 0; i < std::size(kCalls);) {
    const CallInfo& first = kCalls[i];
    out << "|";
    for (; i < std::size(kCalls) && alike(first, kCalls[i]); ++i)
      out << " " << static_cast<unsigned>(kCalls[i].call) << " `" << kCalls[i].symbol << "`";
    out << " | " << first.sentence << " | " << info_of(first.payload).name << " | "
        << (first.budget == Budget::kKept ? "kept" : "bulk") << " | " << first.since << " |\n";
  }
}

std::string type_of(const FieldInfo& field) {
  return (field.is_signed ? "i" : "u") + std::to_string(8 * field.bytes);
}

void write_payloads(std::ostream& out) {
  out << "\n## Payloads\n\n| payload | meaning | fields, in memory order |\n|---|---|---|\n";
  for (const PayloadInfo& payload : kPayloads) {
    out << "| " << payload.name << " | " << payload.sentence << " |";
    for (const FieldInfo& field : payload.fields) out << " `" << field.name << "` " << type_of(field);
    out << " |\n";
  }
}

void write_health(std::ostream& out) {
  out << "\n## Health counters\n\n| index | counter | severity | meaning |\n|---|---|---|---|\n";
  for (const HealthInfo& counter : kHealth)
    out << "| " << static_cast<unsigned>(counter.index) << " | `" << counter.name << "` | "
        << counter.severity << " | " << counter.sentence << " |\n";
}

std::string tables() {
  std::ostringstream out;
  out << kMarker << "\n";
  write_calls(out);
  write_payloads(out);
  write_health(out);
  return out.str();
}

int fail(const std::string& what, const char* hint) {
  std::fprintf(stderr, "error: %s\nhint: %s\n", what.c_str(), hint);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  bool write = argc == 3 && std::strcmp(argv[1], "--write") == 0;
  if (argc != 3 || (!write && std::strcmp(argv[1], "--check") != 0))
    return fail("wrong arguments", "format_tables --check PAGE | --write PAGE");
  std::ifstream in(argv[2], std::ios::binary);
  std::string page{std::istreambuf_iterator<char>(in), {}};
  if (!in) return fail(std::string(argv[2]) + " cannot be read", "name docs/trace-format.md");
  std::string fresh = page.substr(0, page.find(kMarker)) + tables();
  if (fresh == page) return 0;
  if (!write)
    return fail(std::string(argv[2]) + " is not what trace/*.def say", "ninja format_page writes it anew");
  std::ofstream out(argv[2], std::ios::binary | std::ios::trunc);
  out << fresh << std::flush;
  return out ? 0 : fail(std::string(argv[2]) + " cannot be written", "is the disk full?");
}
