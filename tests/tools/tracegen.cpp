// tracegen: the traces of a made-up training job, of any size, drawn from a seed. Prints what it drew.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>

#include "tests/tools/generated_job.h"

namespace {

using ddpscope::tests::JobShape;

constexpr const char* kUsage =
    "tracegen --out DIR [--ranks N] [--steps M] [--epochs N] [--buckets N] [--accumulation K] "
    "[--ranks-per-host N]\n"
    "         [--seed S] [--fold 1] [--data-there 1] [--shared-files N] [--hand-overs N] [--messages N]\n"
    "         [--fault SLUG] | --list-faults";

struct Arguments {
  JobShape shape;
  std::string out;
};

template <class Number>
bool parse(const char* text, Number& number) {
  const char* end = text + std::strlen(text);
  auto [stop, error] = std::from_chars(text, end, number);
  return error == std::errc{} && stop == end && number > 0;
}

bool set(Arguments& arguments, const std::string& option, const char* value) {
  JobShape& shape = arguments.shape;
  if (option == "--out") return arguments.out = value, true;
  if (option == "--fault") return shape.fault = value, true;
  if (option == "--ranks") return parse(value, shape.ranks);
  if (option == "--steps") return parse(value, shape.steps);
  if (option == "--epochs") return parse(value, shape.epochs);
  if (option == "--buckets") return parse(value, shape.buckets);
  if (option == "--accumulation") return parse(value, shape.accumulation);
  if (option == "--ranks-per-host") return parse(value, shape.ranks_per_host);
  if (option == "--fold") return parse(value, shape.fold);
  if (option == "--data-there") return parse(value, shape.data_there);
  if (option == "--shared-files") return parse(value, shape.shared_files);
  if (option == "--hand-overs") return parse(value, shape.hand_overs);
  if (option == "--messages") return parse(value, shape.messages);
  if (option == "--seed") return parse(value, shape.seed);
  return false;
}

int fail(const std::string& what, const std::string& hint) {
  std::fprintf(stderr, "error: %s\nhint: %s\n", what.c_str(), hint.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--list-faults") == 0) {
    for (const auto& fault : ddpscope::tests::kFaults)
      std::printf("%-28s %s\n", fault.slug.data(), fault.sentence.data());
    return 0;
  }
  Arguments arguments;
  for (int i = 1; i < argc; i += 2)
    if (i + 1 == argc || !set(arguments, argv[i], argv[i + 1]))
      return fail(std::string("'") + argv[i] + "' is not understood", kUsage);
  if (arguments.out.empty()) return fail("no folder to write to", kUsage);
  auto job = ddpscope::tests::generate_job(arguments.shape, arguments.out);
  if (!job) return fail(job.error().what, job.error().hint);
  std::printf(
      "{\"records\": %llu, \"fault\": \"%s\", \"rank\": %d, \"epoch\": %u, \"step\": %u, \"bucket\": %u, "
      "\"call\": \"%s\", \"place\": \"%s\"}\n",
      static_cast<unsigned long long>(job->records), arguments.shape.fault.c_str(), job->rank, job->epoch,
      job->step, job->bucket, job->call.c_str(), job->place.c_str());
  return 0;
}
