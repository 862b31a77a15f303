// mergedgen: a merged file of any size, drawn from a seed. Prints what it drew.
#include <cstdio>
#include <string>

#include "tests/tools/generated_merged.h"
#include "tests/tools/options.h"

namespace {

using namespace ddpscope::tests;

constexpr const char* kUsage =
    "mergedgen --out FILE [--events N] [--rows N] [--tracks N] [--ranks-per-host N] [--findings N] [--seed "
    "S]";

bool set(MergedShape& shape, std::string& out, const std::string& option, const char* value) {
  if (option == "--out") return out = value, true;
  if (option == "--events") return parse_count(value, shape.events);
  if (option == "--rows") return parse_count(value, shape.rows);
  if (option == "--tracks") return parse_count(value, shape.tracks);
  if (option == "--ranks-per-host") return parse_count(value, shape.ranks_per_host);
  if (option == "--findings") return parse_number(value, shape.findings);
  if (option == "--seed") return parse_number(value, shape.seed);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  MergedShape shape;
  std::string out;
  auto take = [&](const std::string& option, const char* value) { return set(shape, out, option, value); };
  if (int code = read_options(argc, argv, kUsage, take)) return code;
  if (out.empty()) return fail("no file to write to", kUsage);
  auto generated = generate_merged(shape, out);
  if (!generated) return fail(generated.error().what, generated.error().hint);
  std::printf("{\"events\": %llu, \"ranks\": %d, \"duration_ns\": %lld, \"evidence\": [",
              static_cast<unsigned long long>(generated->events), generated->ranks,
              static_cast<long long>(generated->duration_ns));
  const char* separator = "";
  for (const auto& evidence : generated->evidence) {
    std::printf("%s{\"finding\": %u, \"rank\": %d, \"begin_ns\": %lld, \"end_ns\": %lld}", separator,
                evidence.finding, evidence.rank, static_cast<long long>(evidence.begin_ns),
                static_cast<long long>(evidence.end_ns));
    separator = ", ";
  }
  std::printf("]}\n");
  return 0;
}
