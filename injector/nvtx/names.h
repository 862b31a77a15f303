// Texts that a program gives to ranges and marks: kept for handles, and bounded in number.
#pragma once
#include <wchar.h>

#include <cstddef>
#include <cstdint>

#include "trace/write/file_writer.h"

namespace ddpscope::injector {

// Longer names are cut.
constexpr std::size_t kLongestName = 255;

// A text of the guest, cut and as UTF-8; empty for nullptr.
class RangeName {
 public:
  explicit RangeName(const char* text);
  explicit RangeName(const wchar_t* text);

  const char* text() const { return text_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void add(char32_t character);

  std::size_t bytes_ = 0;
  char text_[kLongestName + 1];
};

// What a handle of a domain or of a registered string points at: lasts as long as the process, because
// programs let go of the text once it is registered.
struct KeptName {
  bool is_nccl;  // NCCL's own domain, or a name in it
  std::uint8_t bytes;
  char text[];
};

// nullptr: no room. Equal texts get places of their own.
const KeptName* keep_name(const RangeName& name, bool is_nccl = false);
// What a handle of the guest points at; nullptr for none, and for one that was never given out.
const KeptName* kept_name(const void* handle);

// The name's id in the trace, 0 if it is empty. Must be called inside OwnWork.
//
// Programs write numbers into names ("step 4711"). Each would take room among the strings of the trace, which
// paths need: from the 4,000th different name of a process on, digits are written as one #.
std::uint32_t range_name_id(trace::FileWriter& file, const char* text, std::size_t bytes);

}  // namespace ddpscope::injector
