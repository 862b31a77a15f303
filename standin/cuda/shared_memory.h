// Device memory that other processes of the host can map: ranges of one file in memory, which has no name.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace ddpscope::standin {

/// A range of a process's file, as another process finds it.
struct SharedRange {
  std::int32_t process;
  std::int32_t descriptor;
  std::uint64_t inode;
  std::uint64_t offset;
  std::uint64_t bytes;
};

inline constexpr std::uint64_t kNotShareable = ~std::uint64_t{0};

/// Zeroed memory in this process's file, at `offset` of it. Null where there can be no such file (a limit on
/// the size of files, descriptors that somebody closed).
void* map_shareable(std::size_t bytes, std::uint64_t& offset);

/// Gives its room back, also where another process still has it mapped: that one reads zeros then.
void unmap_shareable(void* memory, std::size_t bytes, std::uint64_t offset);

/// Room in this process's file that is mapped nowhere yet, and zeroed; none where there can be no such file.
std::optional<std::uint64_t> find_room(std::size_t bytes);
void give_room_back(std::uint64_t offset, std::size_t bytes);

/// Addresses that nothing can be read or written at; null where there are no more. `wanted`: null, or a hint.
void* reserve_addresses(void* wanted, std::size_t bytes);
/// The same in place of what was mapped there.
void reserve_addresses_at(void* address, std::size_t bytes);
void give_addresses_back(void* address, std::size_t bytes);

/// Maps the first `bytes` of a range in place of reserved addresses, and lets nobody read or write them yet.
/// `own`: the range is of this process's file. False where that is gone, or the process does not let us.
bool map_range_at(void* address, std::size_t bytes, const SharedRange& range, bool own);

/// What other processes need to map `bytes` at `offset` of this process's file.
SharedRange share(std::uint64_t offset, std::size_t bytes);

/// Another process's range; null where that process is gone or does not let us.
void* map_foreign(const SharedRange& range);
void unmap_foreign(void* memory, std::size_t bytes);

}  // namespace ddpscope::standin
