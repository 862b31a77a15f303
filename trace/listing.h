// Which names a listing of a folder told: a Bloom filter in blocks of 192 bits, one record each. What it does
// not hold was not told; what it holds may be another name's.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ddpscope::trace {

constexpr unsigned kListingBlocks = 32;     // at most, of one listing; always a power of two
constexpr unsigned kListingEntries = 1024;  // at most: of more the filter would say nothing
constexpr unsigned kListingWords = 3;       // of 64 bits, in a block
constexpr unsigned kListingBits = 64 * kListingWords;
constexpr unsigned kListingBitsOfName = 6;

struct ListingBlock {
  std::uint64_t words[kListingWords];
};

// Part of the format. Names that differ only in the case of their letters are one: some file systems keep
// them so, and tell the case of whoever was first.
inline std::uint64_t hash_entry(std::string_view name) {
  std::uint64_t hash = name.size() * 0x9E3779B97F4A7C15u;
  for (std::size_t at = 0; at < name.size(); at += 8) {
    std::uint64_t word = 0;
    std::size_t left = name.size() - at;
    std::memcpy(&word, name.data() + at, left < 8 ? left : 8);
    hash = (hash ^ (word | 0x2020202020202020u)) * 0xFF51AFD7ED558CCDu;
    hash ^= hash >> 32;
  }
  hash *= 0xC4CEB9FE1A85EC53u;
  return hash ^ hash >> 29;
}

// The block among `count`; visit(word, bit) for each of its bits that the name sets.
inline unsigned block_of(std::uint64_t hash, unsigned count) {
  return static_cast<unsigned>(hash) & (count - 1);
}
template <class Visit>
inline void for_each_bit(std::uint64_t hash, Visit visit) {
  for (unsigned i = 0; i < kListingBitsOfName; ++i) {
    unsigned place = static_cast<unsigned>(hash >> (10 + 9 * i) & 0x1FF) * kListingBits >> 9;
    visit(place / 64, std::uint64_t{1} << place % 64);
  }
}

inline void add_entry(ListingBlock& block, std::uint64_t hash) {
  for_each_bit(hash, [&](unsigned word, std::uint64_t bit) { block.words[word] |= bit; });
}
inline bool may_hold(const ListingBlock& block, std::uint64_t hash) {
  bool all = true;
  for_each_bit(hash, [&](unsigned word, std::uint64_t bit) { all = all && block.words[word] & bit; });
  return all;
}
// Whether, if it seems to hold a name, no more than one in a thousand that was not told would.
inline bool is_sparse(const ListingBlock& block) {
  int set = 0;
  for (std::uint64_t word : block.words) set += std::popcount(word);
  return set <= 60;  // 0.001 to the power of one in kListingBitsOfName, of kListingBits
}

// 12 names a block: then one or two names in a thousand that were not told look as if they were.
constexpr unsigned blocks_for(unsigned entries) {
  unsigned count = 1;
  while (count < kListingBlocks && count * 12 < entries) count *= 2;
  return count;
}

// What was added to blocks[0, kListingBlocks) is in blocks[0, count) from here on.
inline void fold_blocks(ListingBlock* blocks, unsigned count) {
  for (unsigned from = count; from < kListingBlocks; ++from)
    for (unsigned word = 0; word < kListingWords; ++word)
      blocks[from & (count - 1)].words[word] |= blocks[from].words[word];
}

}  // namespace ddpscope::trace
