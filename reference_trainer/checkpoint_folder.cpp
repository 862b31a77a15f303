// What lies in the folder of checkpoints.
#include "checkpoint_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "check.h"

namespace reference_trainer {
namespace {

constexpr char kMagic[sizeof CheckpointHeader::magic + 1] = "RTCKPT01";

bool is_ours(const CheckpointHeader& header) {
  return std::memcmp(header.magic, kMagic, sizeof header.magic) == 0;
}

}  // namespace

CheckpointHeader make_header(int64_t step, uint64_t values) {
  CheckpointHeader header = {{}, step, values};
  std::memcpy(header.magic, kMagic, sizeof header.magic);
  return header;
}

bool is_checkpoint(std::string_view bytes, uint64_t values) {
  CheckpointHeader header = {};
  if (bytes.size() != sizeof header + values * sizeof(float)) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  return is_ours(header) && header.values == values;
}

CheckpointHeader read_header(const std::filesystem::path& path) {
  const int file = check_system(open(path.c_str(), O_RDONLY | O_CLOEXEC), path.native());
  CheckpointHeader header = {};
  const ssize_t got = read(file, &header, sizeof header);
  close(file);
  if (got != sizeof header || !is_ours(header))
    throw std::runtime_error(fmt::format("{} is no checkpoint", path.native()));
  return header;
}

std::vector<SavedCheckpoint> find_checkpoints(const std::filesystem::path& folder) {
  std::vector<SavedCheckpoint> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".bin") found.push_back({read_header(entry.path()).step, entry.path()});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
  return found;
}

std::filesystem::path read_latest(const std::filesystem::path& folder) {
  const std::string name = read_text(folder / "latest");
  return folder / name.substr(0, name.find('\n'));
}

}  // namespace reference_trainer
