// Command lines and values with secrets, whatever they hold: what is kept fits into the room that there is,
// and what was masked once stays as it is.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "injector/core/secrets.h"

namespace {

using namespace ddpscope::injector;

// Room that ends where the allocation does, so that a sanitizer sees a byte more.
std::string masked(const std::string& value, std::size_t room) {
  std::vector<char> out(room);
  std::size_t bytes = mask_value(value.data(), value.size(), out.data(), room);
  if (bytes > room) std::abort();
  return {out.data(), bytes};
}

}  // namespace

// The first byte is the room, in units of 8; words end with a newline.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t room = 8u * data[0];
  ArgumentMask mask;
  std::vector<char> out(room);
  for (const std::uint8_t* at = data + 1; at < data + size;) {
    const std::uint8_t* end = std::find(at, data + size, '\n');
    std::string word(reinterpret_cast<const char*>(at), static_cast<std::size_t>(end - at));
    if (mask.mask(word.data(), word.size(), out.data(), room) > room) std::abort();
    is_secret_name(word.data(), word.size());
    if (!masked(word, 2 * word.size() + 16).starts_with(masked(word, room))) std::abort();
    at = end + (end < data + size);
  }
  return 0;
}
