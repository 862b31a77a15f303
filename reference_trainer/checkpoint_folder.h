// What lies in the folder of checkpoints.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "atomic_file.h"

namespace reference_trainer {

struct CheckpointHeader {
  char magic[8];
  int64_t step;
  uint64_t values;  // float32 values that follow
};

struct SavedCheckpoint {
  int64_t step;
  std::filesystem::path path;
};

CheckpointHeader make_header(int64_t step, uint64_t values);

// Whether `bytes`, the content of a whole file, is a checkpoint of `values` values.
bool is_checkpoint(std::string_view bytes, uint64_t values);

// The header of a file. Throws std::system_error, std::runtime_error if it is none of ours.
CheckpointHeader read_header(const std::filesystem::path& path);

// Lists the folder and opens each FOLDER/*.bin; by step. Throws like read_header.
std::vector<SavedCheckpoint> find_checkpoints(const std::filesystem::path& folder);

// FOLDER/latest: what it names, a path below FOLDER.
std::filesystem::path read_latest(const std::filesystem::path& folder);

}  // namespace reference_trainer
