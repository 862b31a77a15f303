// What an operator's results look like, by what its arguments look like; asked once with meta tensors.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tensors.h"

namespace standin {

struct Result {
  bool is_list = false;
  std::vector<Layout> layouts;  ///< one, unless it is a list

  /// Nothing where it is sparse or quantized.
  static std::optional<Result> of(const c10::IValue& value);
};

/// The results, and what the arguments of the operator that it writes to have become.
struct Shapes {
  std::vector<Result> results;
  std::vector<std::pair<size_t, std::vector<int64_t>>> outs;  ///< argument, sizes
};

/// Everything that decides over shapes, as numbers. False where an argument is of a kind that is not known.
bool make_key(const std::vector<c10::IValue>& arguments, bool floats_matter, std::vector<int64_t>* key);

class ShapeTable {
 public:
  /// Calls `ask()` for what is not known yet. Null: not to be known without computing.
  template <class Ask>
  std::shared_ptr<const Shapes> find(const std::vector<int64_t>& key, Ask ask) {
    {
      std::lock_guard lock(mutex_);
      if (const auto known = shapes_.find(key); known != shapes_.end()) return known->second;
    }
    std::shared_ptr<const Shapes> shapes = ask();
    std::lock_guard lock(mutex_);
    if (shapes_.size() >= kMost) shapes_.clear();
    shapes_.emplace(key, shapes);
    return shapes;
  }

 private:
  static constexpr size_t kMost = 4096;

  struct Hash {
    size_t operator()(const std::vector<int64_t>& key) const;
  };

  std::mutex mutex_;
  std::unordered_map<std::vector<int64_t>, std::shared_ptr<const Shapes>, Hash> shapes_;
};

}  // namespace standin
