// Reads /proc/PID/stat.
#include "trace/write/process_stat.h"

#include "trace/write/text_file.h"

namespace ddpscope::trace {

ProcessStat::ProcessStat(std::int32_t pid) {
  std::size_t size = read_text(ProcPath(pid, "stat").text(), text_, sizeof(text_));
  while (size > 0 && text_[size] != ')') --size;
  after_name_ = text_ + size;
}

const char* ProcessStat::at(int number) const {
  const char* at = *after_name_ ? after_name_ + 1 : "";
  for (int skip = kState; *at; ++skip) {
    while (*at == ' ') ++at;
    if (skip == number) return at;
    while (*at && *at != ' ') ++at;
  }
  return "";
}

std::uint64_t ProcessStat::field(int number) const {
  std::uint64_t value = 0;
  for (const char* digit = at(number); *digit >= '0' && *digit <= '9'; ++digit)
    value = value * 10 + static_cast<std::uint64_t>(*digit - '0');
  return value;
}

}  // namespace ddpscope::trace
