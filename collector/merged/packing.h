// Blocks of bytes, packed by zstd.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace ddpscope::merged {

class Packer {
 public:
  Packer();
  ~Packer();
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;
  // Valid until the next call.
  std::span<const unsigned char> pack(std::span<const unsigned char> bytes);
  // Slots of kSlotBytes each: column by column, so that what is alike lies together.
  std::span<const unsigned char> pack_slots(std::span<const unsigned char> slots);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
  std::vector<unsigned char> packed_, turned_;
};

constexpr std::size_t kMostUnpacked = 128u << 20;  // of one block: more is damage

// Nothing: they are damaged, or do not unpack to just `bytes`.
std::optional<std::vector<unsigned char>> unpack(std::span<const unsigned char> packed, std::size_t bytes);
std::optional<std::vector<unsigned char>> unpack_slots(std::span<const unsigned char> packed,
                                                       std::size_t bytes);

}  // namespace ddpscope::merged
