// mergedgen: a merged file of any size, drawn from a seed. Prints what it drew.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>

#include "tests/tools/generated_merged.h"

namespace {

using ddpscope::tests::MergedShape;

constexpr const char* kUsage =
    "mergedgen --out FILE [--events N] [--rows N] [--tracks N] [--ranks-per-host N] [--findings N] [--seed "
    "S]";

template <class Number>
bool parse(const char* text, Number& number) {
  const char* end = text + std::strlen(text);
  auto [stop, error] = std::from_chars(text, end, number);
  return error == std::errc{} && stop == end;
}

bool set(MergedShape& shape, std::string& out, const std::string& option, const char* value) {
  if (option == "--out") return out = value, true;
  if (option == "--events") return parse(value, shape.events) && shape.events > 0;
  if (option == "--rows") return parse(value, shape.rows) && shape.rows > 0;
  if (option == "--tracks") return parse(value, shape.tracks) && shape.tracks > 0;
  if (option == "--ranks-per-host") return parse(value, shape.ranks_per_host) && shape.ranks_per_host > 0;
  if (option == "--findings") return parse(value, shape.findings);
  if (option == "--seed") return parse(value, shape.seed);
  return false;
}

int fail(const std::string& what, const std::string& hint) {
  std::fprintf(stderr, "error: %s\nhint: %s\n", what.c_str(), hint.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  MergedShape shape;
  std::string out;
  for (int i = 1; i < argc; i += 2)
    if (i + 1 == argc || !set(shape, out, argv[i], argv[i + 1]))
      return fail(std::string("'") + argv[i] + "' is not understood", kUsage);
  if (out.empty()) return fail("no file to write to", kUsage);
  auto generated = ddpscope::tests::generate_merged(shape, out);
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
