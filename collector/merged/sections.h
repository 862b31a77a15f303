// The table of what lies where in a merged file: made at its end, checked when it is opened.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "collector/merged/format.h"
#include "collector/merged/output.h"
#include "trace/result.h"

namespace ddpscope::merged {

class SectionWriter {
 public:
  explicit SectionWriter(Output& output) : output_(output) {}

  void put(SectionId id, std::span<const unsigned char> bytes);  // small: checked at opening
  template <class Entry>
  void put_table(SectionId id, const std::vector<Entry>& entries) {
    put(id, {reinterpret_cast<const unsigned char*>(entries.data()), entries.size() * sizeof(Entry)});
  }
  // What is appended to the output in between: not checked at opening.
  void begin(SectionId id);
  void append(std::span<const unsigned char> bytes) { output_.append(bytes); }
  void append(const Spool& spool) { output_.append(spool); }
  void end();
  // What lies there already.
  void list(SectionId id, std::uint64_t offset, std::uint64_t bytes);
  // The table, and the header over the file's first bytes.
  void finish();

 private:
  Output& output_;
  std::vector<SectionEntry> entries_;
};

// What is mapped, and what the table says of it.
class SectionTable {
 public:
  // Errors: no merged file; written by a newer version; cut off; damaged. `where`: for errors. `data`: what
  // kData lies in, where that is not the file itself.
  static Result<SectionTable> read(std::span<const unsigned char> file, const std::filesystem::path& where,
                                   std::span<const unsigned char> data = {});

  // Empty if there is none.
  std::span<const unsigned char> bytes(SectionId id) const;
  // Somewhere in the file; empty if it does not lie within kData.
  std::span<const unsigned char> data(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  std::span<const unsigned char> file_, data_;
  std::vector<SectionEntry> entries_;
};

}  // namespace ddpscope::merged
