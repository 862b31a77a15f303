// Text traces as files of a test folder, and a folder to compile them into.
#pragma once
#include <stdlib.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace ddpscope::tests {

// In memory where there is room for it: traces of many ranks are many files, each reserved on its disk.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (place() / "ddpscope-test.XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  static std::filesystem::path place() {
    constexpr std::uint64_t kRoom = std::uint64_t{1} << 30;
    struct statvfs memory;
    bool roomy = statvfs("/dev/shm", &memory) == 0 && memory.f_bavail * memory.f_frsize >= kRoom;
    return roomy ? "/dev/shm" : std::filesystem::temp_directory_path();
  }

  std::filesystem::path path_;
};

inline std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// All there are below a folder, by name.
inline std::vector<std::filesystem::path> text_traces_below(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".txt" && entry.path().filename() != "CMakeLists.txt")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// What gtest takes for a name: folder, file and an ending.
inline std::string test_name_of(const std::filesystem::path& file, const std::string& ending = "") {
  std::string name = file.parent_path().filename().string() + "_" + file.stem().string() + ending;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace ddpscope::tests
