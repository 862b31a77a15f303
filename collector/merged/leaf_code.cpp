// Each of the three columns has a width that most of its numbers fit into; the upper bits of the few that do
// not stand behind them (as in "patched frame of reference").
//   column: word u16 = width | full width << 6 | exceptions << 12
//           numbers' lower bits, `width` each; then per exception 4 bits place and (full - width) bits
//   all three words first, then the bits of all three without gaps, up to the next whole byte
#include "collector/merged/leaf_code.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace ddpscope::merged {
namespace {

using Column = std::array<std::uint64_t, kLeafEvents>;

constexpr unsigned kPlaceBits = 4;
constexpr unsigned kMostExceptions = 15;

struct Shape {
  unsigned width, full, exceptions;

  std::size_t bits(std::size_t count) const {
    return count * width + exceptions * (kPlaceBits + full - width);
  }
  std::uint16_t word() const { return static_cast<std::uint16_t>(width | full << 6 | exceptions << 12); }
  static Shape of(unsigned word) { return {word & 63, word >> 6 & 63, word >> 12}; }
};

Shape best_shape(const Column& column, std::size_t count) {
  std::array<unsigned, 65> with_width{};
  unsigned full = 0;
  for (std::size_t i = 0; i < count; ++i) {
    auto width = static_cast<unsigned>(std::bit_width(column[i]));
    ++with_width[width];
    full = std::max(full, width);
  }
  Shape best{full, full, 0};
  unsigned exceptions = 0;
  for (unsigned width = full; width-- > 0;) {
    exceptions += with_width[width + 1];
    if (exceptions > kMostExceptions) break;
    Shape shape{width, full, exceptions};
    if (shape.bits(count) < best.bits(count)) best = shape;
  }
  return best;
}

class BitWriter {
 public:
  explicit BitWriter(std::vector<unsigned char>& out) : out_(out) {}
  void put(std::uint64_t value, unsigned width) {
    while (width > 0) {
      unsigned room = std::min(width, 8 - used_);
      if (used_ == 0) out_.push_back(0);
      out_.back() = static_cast<unsigned char>(out_.back() | (value & ((1u << room) - 1)) << used_);
      value >>= room;
      width -= room;
      used_ = (used_ + room) % 8;
    }
  }

 private:
  std::vector<unsigned char>& out_;
  unsigned used_ = 0;  // bits of the last byte
};

class BitReader {
 public:
  explicit BitReader(std::span<const unsigned char> bytes) : bytes_(bytes) {}
  // Up to 63 bits that are there.
  std::uint64_t get(unsigned width) {
    std::size_t byte = at_ / 8;
    unsigned shift = at_ % 8;
    at_ += width;
    if (byte + 16 <= bytes_.size()) {
      std::uint64_t low, high;
      std::memcpy(&low, bytes_.data() + byte, 8);
      std::memcpy(&high, bytes_.data() + byte + 8, 8);
      std::uint64_t value = low >> shift | (shift ? high << (64 - shift) : 0);
      return value & mask(width);
    }
    return get_slowly(byte, shift, width);
  }

 private:
  static std::uint64_t mask(unsigned width) { return (std::uint64_t{1} << width) - 1; }
  std::uint64_t get_slowly(std::size_t byte, unsigned shift, unsigned width) const {
    std::uint64_t value = 0;
    unsigned have = 0;
    for (; have < width; ++byte) {
      std::uint64_t part = static_cast<std::uint64_t>(bytes_[byte]) >> shift;
      value |= part << have;
      have += 8 - shift;
      shift = 0;
    }
    return value & mask(width);
  }

  std::span<const unsigned char> bytes_;
  std::size_t at_ = 0;
};

void pack_column(const Column& column, std::size_t count, Shape shape, BitWriter& out) {
  for (std::size_t i = 0; i < count; ++i)
    out.put(column[i] & ((std::uint64_t{1} << shape.width) - 1), shape.width);
  for (std::size_t i = 0; i < count; ++i) {
    if (column[i] >> shape.width == 0) continue;
    out.put(i, kPlaceBits);
    out.put(column[i] >> shape.width, shape.full - shape.width);
  }
}

void unpack_column(std::size_t count, Shape shape, BitReader& in, Column& column) {
  for (std::size_t i = 0; i < count; ++i) column[i] = in.get(shape.width);
  for (unsigned i = 0; i < shape.exceptions; ++i) {
    std::uint64_t place = in.get(kPlaceBits);
    column[place] |= in.get(shape.full - shape.width) << shape.width;
  }
}

}  // namespace

void pack_leaf(std::span<const PackedEvent> events, std::vector<unsigned char>& out) {
  std::array<Column, 3> columns{};
  for (std::size_t i = 0; i < events.size(); ++i) {
    columns[0][i] = events[i].gap_ns;
    columns[1][i] = events[i].duration_ns;
    columns[2][i] = events[i].name;
  }
  std::array<Shape, 3> shapes;
  for (std::size_t i = 0; i < 3; ++i) {
    shapes[i] = best_shape(columns[i], events.size());
    out.push_back(static_cast<unsigned char>(shapes[i].word()));
    out.push_back(static_cast<unsigned char>(shapes[i].word() >> 8));
  }
  BitWriter bits(out);
  for (std::size_t i = 0; i < 3; ++i) pack_column(columns[i], events.size(), shapes[i], bits);
}

bool unpack_leaf(std::span<const unsigned char> bytes, std::span<PackedEvent> out) {
  std::fill(out.begin(), out.end(), PackedEvent{});
  if (bytes.size() < kLeastLeafBytes || out.size() > kLeafEvents) return false;
  std::array<Shape, 3> shapes;
  std::size_t bits = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    shapes[i] = Shape::of(bytes[2 * i] | static_cast<unsigned>(bytes[2 * i + 1]) << 8);
    if (shapes[i].full < shapes[i].width) return false;
    bits += shapes[i].bits(out.size());
  }
  if ((bits + 7) / 8 > bytes.size() - kLeastLeafBytes) return false;
  std::array<Column, 3> columns{};
  BitReader in(bytes.subspan(kLeastLeafBytes));
  for (std::size_t i = 0; i < 3; ++i) unpack_column(out.size(), shapes[i], in, columns[i]);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = {columns[0][i], columns[1][i], columns[2][i]};
  return true;
}

}  // namespace ddpscope::merged
