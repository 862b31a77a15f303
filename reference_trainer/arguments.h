// The command line.
#pragma once

#include <cstdint>
#include <string>

#include "faults.h"

namespace reference_trainer {

struct Arguments {
  // job
  int ranks = 0;  // > 0: start so many ranks here; 0: be the rank that the environment names
  int rank = -1;  // of this process; -1: as the environment says
  std::string workdir = "reference_trainer.out";
  double timeout_seconds = 10;
  bool resume = false;

  // data
  std::string data;        // a text file, or a folder of them
  int64_t samples = 1024;  // in an epoch, over all ranks
  int targets = 16;        // tokens to predict in a sample
  int workers = 2;         // loader processes of a rank

  // model: a window of context tokens, embedded and fed through fully connected layers
  int context = 8;
  int embedding = 16;
  int width = 128;
  int layers = 2;

  // training
  int64_t epochs = 3;
  int64_t steps = 0;   // > 0: stop after so many optimizer steps
  int batch = 16;      // samples in a micro-batch of one rank
  int accumulate = 2;  // micro-batches in an optimizer step
  int64_t bucket_bytes = 64 << 10;
  double learning_rate = 3e-3;
  uint64_t seed = 1;
  int64_t evaluate_every = 0;    // steps; 0: at the end of each epoch
  int64_t checkpoint_every = 0;  // steps; 0: at the end of each epoch

  int fault_rank = 1;  // the rank that goes wrong, if a fault makes one
  Faults faults;

  // Tokens that a sample occupies.
  int tokens_per_sample() const { return context + targets; }
};

// What main does next.
enum class Action { kTrain, kExit };

// Fills `arguments`; kExit: --help or --list-faults has been answered. Throws std::invalid_argument.
Action parse_arguments(int argc, char** argv, Arguments& arguments);

}  // namespace reference_trainer
