// A summary that `diff` is given, whatever is in it: an error, or a summary that is written and read as the
// same one.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "collector/summary/difference.h"
#include "collector/summary/summary.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ddpscope;
  auto summary = summary::parse({reinterpret_cast<const char*>(data), size});
  if (!summary) return 0;
  std::string once = summary::to_json(*summary);
  auto again = summary::parse(once);
  if (!again || summary::to_json(*again) != once) std::abort();
  return 0;
}
