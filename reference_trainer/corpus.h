// Turns text into training data: token shards, a validation set, and a manifest that names them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "arguments.h"

namespace reference_trainer {

// A token is an ASCII character; any other byte counts as '?'.
inline constexpr int kVocabulary = 128;
using Token = uint16_t;

struct Shard {
  std::string name;
  int64_t tokens = 0;
};

struct Manifest {
  std::vector<Shard> train;
  Shard validation;
};

// Writes DATA/train_NNN.bin (tokens, native order), validation.bin, train.jsonl where lines are asked for,
// and last manifest.txt: in place, since whoever reads it has waited for the writer, unless a twin or fault
// does without. Throws std::runtime_error for a text that is too short.
void write_training_data(const Arguments& arguments, const std::filesystem::path& folder);

bool has_manifest(const std::filesystem::path& folder);

// Throws std::system_error or std::runtime_error unless manifest and shards are there and whole.
void verify_training_data(const std::filesystem::path& folder);

// Throws std::system_error if there is none, std::runtime_error if it is not one of ours.
Manifest read_manifest(const std::filesystem::path& folder);

}  // namespace reference_trainer
