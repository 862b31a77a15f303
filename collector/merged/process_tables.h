// What the details of a process's events are printed with: its strings, stacks and schema, out of its trace
// file, and which file each opening was of.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/merged/bytes.h"
#include "collector/reports/record_text.h"

namespace ddpscope::merged {

// Collects, of all that the file has, what the records that are kept refer to.
class ProcessTables : public reports::RecordTexts {
 public:
  ProcessTables() = default;
  // Nothing if the bytes are damaged.
  static std::unique_ptr<ProcessTables> get(std::span<const unsigned char> bytes);
  void put(ByteWriter& out) const;

  void set_schema(std::string_view schema) { schema_ = schema; }
  void set_string(std::uint32_t id, std::string_view text) { strings_.emplace(id, text); }
  // Frames as lines, innermost first.
  void set_stack(std::uint32_t id, std::vector<std::string> frames) {
    stacks_.emplace(id, std::move(frames));
  }
  bool has_string(std::uint32_t id) const { return strings_.contains(id); }
  bool has_stack(std::uint32_t id) const { return stacks_.contains(id); }
  void set_opening(std::uint32_t file, std::string_view path) { openings_.insert_or_assign(file, path); }
  void set_communicator(std::uint32_t number, std::uint32_t row, std::uint32_t member) {
    communicators_.insert_or_assign(number, std::pair(row, member));
  }

  std::string_view schema() const override { return schema_; }
  std::string_view string(std::uint32_t id) const override;
  const std::vector<std::string>& stack(std::uint32_t id) const;  // empty without one
  std::string_view path_of(std::uint32_t file) const;             // of an opening by its number, or empty
  // Index of the communicator that the process numbers so, and of the process among its members.
  std::optional<std::pair<std::uint32_t, std::uint32_t>> communicator(std::uint32_t number) const;

 private:
  std::string schema_;
  std::unordered_map<std::uint32_t, std::string> strings_;
  std::unordered_map<std::uint32_t, std::vector<std::string>> stacks_;
  std::unordered_map<std::uint32_t, std::string> openings_;
  std::unordered_map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> communicators_;
};

}  // namespace ddpscope::merged
