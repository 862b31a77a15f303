// The command line: flags, what a twin changes about them, and what cannot work.
#include "arguments.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <stdexcept>

#include "kernels.h"

namespace reference_trainer {
namespace {

struct FaultArguments {
  std::string fault, twin;
  int64_t at = 2;
  double delay_seconds = 1;
  bool list = false, json = false;
};

// Debian's licences; on other systems the documentation that is installed beside this program.
std::string default_data() {
  std::error_code none;
  const std::filesystem::path licences = "/usr/share/common-licenses";
  if (std::filesystem::is_directory(licences, none)) return licences;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", none);
  return program.parent_path().parent_path() / "share/doc/ddpscope/docs";
}

void add_job_flags(CLI::App& app, Arguments& a) {
  app.add_option("--ranks", a.ranks,
                 "start so many ranks on this machine (default: take RANK and WORLD_SIZE)");
  app.add_option("--rank", a.rank, "be this rank, whatever RANK says");
  app.add_option("--workdir", a.workdir, "where data and checkpoints go")->capture_default_str();
  app.add_option("--timeout", a.timeout_seconds, "seconds without progress before a rank gives up")
      ->capture_default_str();
  app.add_flag("--resume", a.resume, "go on from the latest checkpoint of the workdir");
}

void add_training_flags(CLI::App& app, Arguments& a) {
  a.data = default_data();
  app.add_option("--data", a.data, "text file, or a folder of them")->capture_default_str();
  app.add_option("--samples", a.samples, "samples in an epoch, over all ranks")->capture_default_str();
  app.add_option("--targets", a.targets, "tokens to predict in a sample")->capture_default_str();
  app.add_option("--workers", a.workers, "loader processes of a rank; 0: it reads its samples itself")
      ->capture_default_str();
  app.add_option("--context", a.context, "tokens that the model sees")->capture_default_str();
  app.add_option("--embedding", a.embedding, "width of a token's embedding")->capture_default_str();
  app.add_option("--width", a.width, "width of the hidden layers")->capture_default_str();
  app.add_option("--layers", a.layers, "hidden layers")->capture_default_str();
  app.add_option("--epochs", a.epochs, "passes over the samples")->capture_default_str();
  app.add_option("--steps", a.steps, "stop after so many optimizer steps (0: no limit)")
      ->capture_default_str();
  app.add_option("--batch", a.batch, "samples in a micro-batch of one rank")->capture_default_str();
  app.add_option("--accumulate", a.accumulate, "micro-batches in an optimizer step")->capture_default_str();
  app.add_option("--bucket-bytes", a.bucket_bytes, "gradients reduced in one call")->capture_default_str();
  app.add_option("--learning-rate", a.learning_rate)->capture_default_str();
  app.add_option("--seed", a.seed)->capture_default_str();
  app.add_option("--evaluate-every", a.evaluate_every, "steps (0: at the end of an epoch)")
      ->capture_default_str();
  app.add_option("--checkpoint-every", a.checkpoint_every, "steps (0: at the end of an epoch)")
      ->capture_default_str();
}

void add_fault_flags(CLI::App& app, Arguments& a, FaultArguments& f) {
  CLI::Option* fault = app.add_option("--fault", f.fault, "SLUG[/VARIANT]: one row of --list-faults");
  app.add_option("--twin", f.twin, "a healthy program that looks like a fault")->excludes(fault);
  app.add_option("--fault-rank", a.fault_rank, "the rank that goes wrong")->capture_default_str();
  app.add_option("--fault-at", f.at, "the step, epoch or save that goes wrong, from 1")
      ->capture_default_str();
  app.add_option("--fault-delay", f.delay_seconds,
                 "seconds by which what nothing orders comes late; 0: such a race may end the run")
      ->capture_default_str();
  app.add_flag("--list-faults", f.list, "print the table of faults and twins");
  app.add_flag("--json", f.json, "with --list-faults: as JSON");
}

// Twins that are other settings of the healthy program.
void apply_twin(Arguments& a) {
  if (a.faults.on(Twin::kFrequentCheckpoint)) a.checkpoint_every = 2;
  if (a.faults.on(Twin::kFrequentEvaluation) || a.faults.on(Twin::kShuffledEvaluation)) a.evaluate_every = 4;
  if (a.faults.on(Twin::kPaddedSampler) || a.faults.on(Twin::kDropLast)) a.samples -= a.batch + 3;
  if (a.faults.on(Twin::kManyBuckets)) a.bucket_bytes = 1;
  if (a.faults.on(Twin::kOneBucket)) a.bucket_bytes = int64_t{1} << 40;
  // Each of two parts has a multiple of the lanes.
  if (a.faults.on(Twin::kTensorParallel)) a.width += a.width % (2 * kLanes);
}

void require(bool condition, const char* sentence) {
  if (!condition) throw std::invalid_argument(sentence);
}

void validate(const Arguments& a) {
  require(a.ranks >= 0, "--ranks must not be negative");
  require(a.fault_rank >= 0, "--fault-rank must not be negative");
  require(a.timeout_seconds > 0, "--timeout must be positive");
  require(a.samples > 0 && a.targets > 0 && a.context > 0,
          "--samples, --targets and --context must be positive");
  require(a.workers >= 0, "--workers must not be negative");
  require(a.embedding > 0 && a.embedding * a.context % kLanes == 0,
          "--embedding times --context must be a multiple of 16");
  require(a.width > 0 && a.width % kLanes == 0, "--width must be a multiple of 16");
  require(a.layers > 0, "--layers must be positive");
  require(a.epochs > 0 && a.steps >= 0, "--epochs must be positive, --steps not negative");
  require(a.batch > 0 && a.accumulate > 0, "--batch and --accumulate must be positive");
  require(!a.resume || !a.faults.on(Twin::kTensorParallel),
          "tensor-parallel keeps its parts, but cannot resume from them");
  require(a.bucket_bytes > 0, "--bucket-bytes must be positive");
  require(a.evaluate_every >= 0 && a.checkpoint_every >= 0,
          "--evaluate-every and --checkpoint-every must not be negative");
}

}  // namespace

Action parse_arguments(int argc, char** argv, Arguments& arguments) {
  CLI::App app("Trains a small language model, data-parallel, on CUDA and NCCL.", "reference_trainer");
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  FaultArguments faults;
  add_job_flags(app, arguments);
  add_training_flags(app, arguments);
  add_fault_flags(app, arguments, faults);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return Action::kExit;
  } catch (const CLI::ParseError& error) {
    throw std::invalid_argument(error.what());
  }
  if (faults.list) {
    fmt::print("{}", list_faults(faults.json));
    return Action::kExit;
  }
  if (!faults.fault.empty()) arguments.faults.select_fault(faults.fault);
  if (!faults.twin.empty()) arguments.faults.select_twin(faults.twin);
  require(faults.delay_seconds >= 0, "--fault-delay must not be negative");
  arguments.faults.strike(arguments.fault_rank, faults.at, faults.delay_seconds);
  apply_twin(arguments);
  validate(arguments);
  return Action::kTrain;
}

}  // namespace reference_trainer
