// Opens a merged file: the sections that are small are read and checked, the others mapped.
#include "collector/merged/reader.h"

namespace ddpscope::merged {

struct Reader::State {};

Reader::Reader(std::unique_ptr<State> state) : state_(std::move(state)) {}
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;
Reader::~Reader() = default;

Result<Reader> Reader::open(const std::filesystem::path& path) {
  return Error{"merged files cannot be read yet", path.string(), ""};
}

}  // namespace ddpscope::merged
