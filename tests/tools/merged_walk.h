// Looks at everything that a merged file's reader hands out; and makes checksums right again after bytes were
// changed, so that what lies behind them is reached.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/merged/reader.h"

namespace ddpscope::tests {

// A sum of all that was seen, so that no look is optimised away.
std::uint64_t look_at_all(const merged::Reader& reader);

// Of the bytes of a file, as far as its header and table can be made out.
void repair_checksums(std::vector<unsigned char>& file);

}  // namespace ddpscope::tests
