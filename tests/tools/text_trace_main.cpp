// text_trace IN.txt OUT_FOLDER: compiles a text trace (README.md).
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/tools/text_trace.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "error: wrong number of arguments\nhint: text_trace IN.txt OUT_FOLDER\n");
    return 2;
  }
  std::ifstream in(argv[1]);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in) {
    std::fprintf(stderr, "error: %s: cannot be read\n", argv[1]);
    return 2;
  }
  auto compiled = ddpscope::tests::compile_text_trace(text, argv[2]);
  if (!compiled) {
    const ddpscope::Error& error = compiled.error();
    std::fprintf(stderr, "error: %s: %s: %s\n", argv[1], error.where.c_str(), error.what.c_str());
    if (!error.hint.empty()) std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
    return 2;
  }
  std::printf("%s: %zu files, %zu records\n", argv[2], compiled->processes, compiled->records);
  return 0;
}
