// Writes files so that a reader sees the old content or the new, never a part: temporary file, fsync, rename.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace reference_trainer {

using Bytes = std::span<const std::byte>;

// Writes the parts one after the other into an existing or new file. Throws std::system_error.
void write_in_place(const std::filesystem::path& path, std::span<const Bytes> parts);

// The same for text.
void write_in_place(const std::filesystem::path& path, std::string_view text);

// A name beside `path` that no other process uses.
std::filesystem::path temporary_of(const std::filesystem::path& path);

// Likewise, by way of temporary_of(path).
void write_atomically(const std::filesystem::path& path, std::span<const Bytes> parts);
void write_atomically(const std::filesystem::path& path, std::string_view text);

// The whole file. Throws std::system_error.
std::string read_text(const std::filesystem::path& path);

}  // namespace reference_trainer
