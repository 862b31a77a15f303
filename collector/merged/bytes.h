// Numbers and texts to bytes and back. What reads takes the bytes for hostile: past their end everything is 0
// or empty, and ok() says so.
#pragma once
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ddpscope::merged {

class ByteWriter {
 public:
  template <class Number>
  void put(Number number) {
    static_assert(std::is_trivially_copyable_v<Number> && !std::is_pointer_v<Number>);
    const auto* bytes = reinterpret_cast<const unsigned char*>(&number);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof(number));
  }
  // Small numbers in few bytes.
  void put_short(std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) bytes_.push_back(static_cast<unsigned char>(number | 0x80));
    bytes_.push_back(static_cast<unsigned char>(number));
  }
  // Of either sign.
  void put_near(std::int64_t number) {
    put_short((static_cast<std::uint64_t>(number) << 1) ^ static_cast<std::uint64_t>(number >> 63));
  }
  void put_text(std::string_view text) {
    put_short(text.size());
    bytes_.insert(bytes_.end(), text.begin(), text.end());
  }
  void put_bytes(std::span<const unsigned char> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  const std::vector<unsigned char>& bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  std::vector<unsigned char> bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const unsigned char> bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  bool at_end() const { return bytes_.empty(); }
  std::size_t left() const { return bytes_.size(); }

  template <class Number>
  Number get() {
    Number number{};
    if (auto bytes = take(sizeof(number)); !bytes.empty()) std::memcpy(&number, bytes.data(), sizeof(number));
    return number;
  }
  std::uint64_t get_short() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      auto byte = take(1);
      if (byte.empty()) return 0;
      number |= static_cast<std::uint64_t>(byte[0] & 0x7f) << shift;
      if (!(byte[0] & 0x80)) return number;
    }
    ok_ = false;
    return 0;
  }
  std::int64_t get_near() {
    std::uint64_t number = get_short();
    return static_cast<std::int64_t>((number >> 1) ^ (~(number & 1) + 1));
  }
  std::string_view get_view() {
    auto bytes = take(get_short());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::string get_text() { return std::string(get_view()); }
  // A count of things that take at least `least` bytes each: no more than there can be.
  std::size_t get_count(std::size_t least) {
    std::uint64_t count = get_short();
    if (count > bytes_.size() / least) {
      fail();
      return 0;
    }
    return static_cast<std::size_t>(count);
  }
  std::span<const unsigned char> take(std::uint64_t count) {
    if (count > bytes_.size()) {
      fail();
      return {};
    }
    auto taken = bytes_.first(static_cast<std::size_t>(count));
    bytes_ = bytes_.subspan(static_cast<std::size_t>(count));
    return taken;
  }
  void fail() {
    ok_ = false;
    bytes_ = {};
  }

 private:
  std::span<const unsigned char> bytes_;
  bool ok_ = true;
};

}  // namespace ddpscope::merged
