// tracegen: the traces of a made-up training job, of any size, drawn from a seed. Prints what it drew.
#include <cstdio>
#include <cstring>
#include <string>

#include "tests/tools/generated_job.h"
#include "tests/tools/options.h"

namespace {

using namespace ddpscope::tests;

constexpr const char* kUsage =
    "tracegen --out DIR [--ranks N] [--steps M] [--epochs N] [--buckets N] [--accumulation K] "
    "[--ranks-per-host N]\n"
    "         [--seed S] [--fold 1] [--data-there 1] [--shared-files N] [--hand-overs N] [--messages N]\n"
    "         [--timed 1] [--fault SLUG] | --list-faults";

struct Arguments {
  JobShape shape;
  std::string out;
};

bool set(Arguments& arguments, const std::string& option, const char* value) {
  JobShape& shape = arguments.shape;
  if (option == "--out") return arguments.out = value, true;
  if (option == "--fault") return shape.fault = value, true;
  if (option == "--ranks") return parse_count(value, shape.ranks);
  if (option == "--steps") return parse_count(value, shape.steps);
  if (option == "--epochs") return parse_count(value, shape.epochs);
  if (option == "--buckets") return parse_count(value, shape.buckets);
  if (option == "--accumulation") return parse_count(value, shape.accumulation);
  if (option == "--ranks-per-host") return parse_count(value, shape.ranks_per_host);
  if (option == "--fold") return parse_count(value, shape.fold);
  if (option == "--data-there") return parse_count(value, shape.data_there);
  if (option == "--shared-files") return parse_count(value, shape.shared_files);
  if (option == "--hand-overs") return parse_count(value, shape.hand_overs);
  if (option == "--messages") return parse_count(value, shape.messages);
  if (option == "--timed") return parse_count(value, shape.timed);
  if (option == "--seed") return parse_count(value, shape.seed);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--list-faults") == 0) {
    for (const auto& fault : kFaults) std::printf("%-28s %s\n", fault.slug.data(), fault.sentence.data());
    return 0;
  }
  Arguments arguments;
  auto take = [&](const std::string& option, const char* value) { return set(arguments, option, value); };
  if (int code = read_options(argc, argv, kUsage, take)) return code;
  if (arguments.out.empty()) return fail("no folder to write to", kUsage);
  auto job = generate_job(arguments.shape, arguments.out);
  if (!job) return fail(job.error().what, job.error().hint);
  std::printf(
      "{\"records\": %llu, \"fault\": \"%s\", \"rank\": %d, \"epoch\": %u, \"step\": %u, \"bucket\": %u, "
      "\"call\": \"%s\", \"place\": \"%s\"}\n",
      static_cast<unsigned long long>(job->records), arguments.shape.fault.c_str(), job->rank, job->epoch,
      job->step, job->bucket, job->call.c_str(), job->place.c_str());
  return 0;
}
