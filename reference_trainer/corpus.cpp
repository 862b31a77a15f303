// Turns text into training data: token shards, a validation set, and a manifest that names them.
#include "corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <span>
#include <sstream>
#include <stdexcept>

#include "atomic_file.h"
#include "check.h"

namespace reference_trainer {
namespace {

constexpr int kShards = 4;
constexpr const char* kManifestName = "manifest.txt";

// Sorted, and without links: what a folder lists differs from machine to machine in order only.
std::vector<std::filesystem::path> text_files(const std::filesystem::path& data) {
  if (!std::filesystem::is_directory(data)) return {data};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(data)) {
    if (entry.is_regular_file() && !entry.is_symlink()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<Token> tokenize(const std::filesystem::path& data) {
  std::vector<Token> tokens;
  for (const std::filesystem::path& file : text_files(data)) {
    for (unsigned char c : read_text(file)) tokens.push_back(c < kVocabulary ? c : '?');
  }
  return tokens;
}

Shard write_shard(std::span<const Token> tokens, const std::filesystem::path& folder,
                  const std::string& name) {
  const std::filesystem::path temporary = temporary_of(folder / name);
  std::ofstream file(temporary, std::ios::binary);
  file.write(reinterpret_cast<const char*>(tokens.data()), static_cast<std::streamsize>(tokens.size_bytes()));
  file.close();
  if (!file) throw std::runtime_error(fmt::format("cannot write {}", temporary.native()));
  std::filesystem::rename(temporary, folder / name);
  return {name, static_cast<int64_t>(tokens.size())};
}

// One sample a line: {"tokens":[1,2,...]}
void write_lines(std::span<const Token> tokens, const Arguments& arguments,
                 const std::filesystem::path& folder) {
  std::ofstream file(folder / "train.jsonl");
  const int64_t stride =
      (static_cast<int64_t>(tokens.size()) - arguments.tokens_per_sample()) / arguments.samples;
  for (int64_t sample = 0; sample < arguments.samples; ++sample) {
    const auto own = tokens.subspan(sample * stride, arguments.tokens_per_sample());
    file << fmt::format("{{\"tokens\":[{}]}}\n", fmt::join(own, ","));
  }
  file.close();
  if (!file) throw std::runtime_error("cannot write train.jsonl");
}

std::string to_text(const Manifest& manifest) {
  std::string text;
  for (const Shard& shard : manifest.train) text += fmt::format("train {} {}\n", shard.name, shard.tokens);
  text += fmt::format("validation {} {}\n", manifest.validation.name, manifest.validation.tokens);
  return text;
}

}  // namespace

void write_training_data(const Arguments& arguments, const std::filesystem::path& folder) {
  const std::vector<Token> text = tokenize(arguments.data);
  const std::span<const Token> tokens(text);
  const size_t train = tokens.size() / 16 * 15;
  if (tokens.size() - train < static_cast<size_t>(arguments.tokens_per_sample()) ||
      train / kShards < static_cast<size_t>(arguments.tokens_per_sample())) {
    throw std::runtime_error(fmt::format("{} holds only {} characters", arguments.data, tokens.size()));
  }
  std::filesystem::create_directories(folder);
  Manifest manifest;
  for (int shard = 0; shard < kShards; ++shard) {
    const size_t first = train / kShards * shard;
    manifest.train.push_back(
        write_shard(tokens.subspan(first, train / kShards), folder, fmt::format("train_{:03}.bin", shard)));
  }
  if (arguments.faults.on(Twin::kInterleavedLines)) write_lines(tokens.first(train), arguments, folder);
  manifest.validation = write_shard(tokens.subspan(train), folder, "validation.bin");
  const std::string lines = to_text(manifest);
  // Ranks that all prepare would otherwise empty it under one another's eyes, and end the run.
  const bool all_write = arguments.faults.on(Fault::kNoGroupWorldOfOne);
  if (arguments.faults.on(Twin::kRenamePublished) || all_write) {
    write_atomically(folder / kManifestName, lines);
  } else {
    write_in_place(folder / kManifestName, lines);
  }
}

bool has_manifest(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / kManifestName);
}

void verify_training_data(const std::filesystem::path& folder) {
  Manifest manifest = read_manifest(folder);
  manifest.train.push_back(manifest.validation);
  for (const Shard& shard : manifest.train) {
    if (std::filesystem::file_size(folder / shard.name) == shard.tokens * sizeof(Token)) continue;
    throw std::runtime_error(fmt::format("{} is not whole", (folder / shard.name).native()));
  }
}

Manifest read_manifest(const std::filesystem::path& folder) {
  Manifest manifest;
  std::istringstream lines(read_text(folder / kManifestName));
  std::string kind;
  Shard shard;
  while (lines >> kind >> shard.name >> shard.tokens) {
    if (kind == "train") manifest.train.push_back(shard);
    if (kind == "validation") manifest.validation = shard;
  }
  if (!lines.eof() || manifest.train.empty() || manifest.validation.tokens == 0) {
    throw std::runtime_error(fmt::format("{} is no manifest", (folder / kManifestName).native()));
  }
  return manifest;
}

}  // namespace reference_trainer
