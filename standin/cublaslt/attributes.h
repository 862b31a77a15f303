// Descriptors as tables of attributes: where in a descriptor each attribute lies, and how many bytes it has.
#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace ddpscope::standin::lt {

struct Attribute {
  int id;
  std::size_t offset;
  std::size_t bytes;
};

inline const Attribute* find(std::span<const Attribute> table, int id) {
  for (const Attribute& attribute : table)
    if (attribute.id == id) return &attribute;
  return nullptr;
}

/// The `bytes` must be those of the attribute.
inline cublasStatus_t set(std::span<const Attribute> table, void* descriptor, int id, const void* value,
                          std::size_t bytes) {
  const Attribute* attribute = find(table, id);
  if (!descriptor || !attribute || !value || bytes != attribute->bytes) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(static_cast<char*>(descriptor) + attribute->offset, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

/// With `bytes` 0 only the size that it needs is written, to `written`.
inline cublasStatus_t get(std::span<const Attribute> table, const void* descriptor, int id, void* value,
                          std::size_t bytes, std::size_t* written) {
  const Attribute* attribute = find(table, id);
  if (!descriptor || !attribute || (bytes == 0 && !written)) return CUBLAS_STATUS_INVALID_VALUE;
  if (written) *written = attribute->bytes;
  if (bytes == 0) return CUBLAS_STATUS_SUCCESS;
  if (!value || bytes < attribute->bytes) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(value, static_cast<const char*>(descriptor) + attribute->offset, attribute->bytes);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace ddpscope::standin::lt
