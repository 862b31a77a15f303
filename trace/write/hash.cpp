// The hash by which strings and stacks are told apart. Always optimised: only then the compiler drops the
// part of xxhash that allocates.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "trace/write/file_writer.h"

namespace ddpscope::trace {

std::uint64_t hash_bytes(const void* bytes, std::size_t size) { return XXH3_64bits(bytes, size); }

}  // namespace ddpscope::trace
