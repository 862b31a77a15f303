// zstd with a checksum of the content: what is damaged is not unpacked.
#include "collector/merged/packing.h"

#include <zstd.h>

#include "collector/merged/format.h"

namespace ddpscope::merged {
namespace {

constexpr int kLevel = 3;

// out[column * rows + row] = in[row * kSlotBytes + column], or the other way round.
void turn(std::span<const unsigned char> in, std::span<unsigned char> out, bool back) {
  std::size_t rows = in.size() / kSlotBytes;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < kSlotBytes; ++column) {
      std::size_t by_row = row * kSlotBytes + column, by_column = column * rows + row;
      if (back)
        out[by_row] = in[by_column];
      else
        out[by_column] = in[by_row];
    }
}

}  // namespace

struct Packer::Context {
  ZSTD_CCtx* zstd = ZSTD_createCCtx();
  ~Context() { ZSTD_freeCCtx(zstd); }
};

Packer::Packer() : context_(std::make_unique<Context>()) {
  ZSTD_CCtx_setParameter(context_->zstd, ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context_->zstd, ZSTD_c_checksumFlag, 1);
}

Packer::~Packer() = default;

std::span<const unsigned char> Packer::pack(std::span<const unsigned char> bytes) {
  packed_.resize(ZSTD_compressBound(bytes.size()));
  std::size_t size =
      ZSTD_compress2(context_->zstd, packed_.data(), packed_.size(), bytes.data(), bytes.size());
  return {packed_.data(), ZSTD_isError(size) ? 0 : size};
}

std::span<const unsigned char> Packer::pack_slots(std::span<const unsigned char> slots) {
  turned_.resize(slots.size());
  turn(slots, turned_, false);
  return pack(turned_);
}

std::optional<std::vector<unsigned char>> unpack(std::span<const unsigned char> packed, std::size_t bytes) {
  if (bytes > kMostUnpacked || ZSTD_getFrameContentSize(packed.data(), packed.size()) != bytes)
    return std::nullopt;
  std::vector<unsigned char> out(bytes);
  std::size_t size = ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size());
  if (ZSTD_isError(size) || size != bytes) return std::nullopt;
  return out;
}

std::optional<std::vector<unsigned char>> unpack_slots(std::span<const unsigned char> packed,
                                                       std::size_t bytes) {
  auto turned = unpack(packed, bytes);
  if (!turned || bytes % kSlotBytes) return std::nullopt;
  std::vector<unsigned char> out(bytes);
  turn(*turned, out, true);
  return out;
}

}  // namespace ddpscope::merged
