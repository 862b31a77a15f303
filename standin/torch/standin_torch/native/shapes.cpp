#include "shapes.h"

#include <cstring>

namespace standin {
namespace {

enum Kind : int64_t { kNone, kTensor, kList, kInt, kBool, kFloat, kOther };

int64_t bits_of(double number) {
  int64_t bits;
  std::memcpy(&bits, &number, sizeof bits);
  return bits;
}

class KeyMaker {
 public:
  KeyMaker(bool floats_matter, std::vector<int64_t>* key) : floats_matter_(floats_matter), key_(*key) {}

  bool add(const c10::IValue& value) {
    if (value.isNone() || value.isGenerator()) return put(kNone);
    if (value.isTensor()) return add_tensor(value.toTensor());
    if (value.isInt()) return put(kInt, value.toInt());
    if (value.isBool()) return put(kBool, value.toBool());
    if (value.isDouble()) return put(kFloat, floats_matter_ ? bits_of(value.toDouble()) : 0);
    if (value.isComplexDouble()) return put(kOther, 1);
    if (value.isString())
      return put(kOther, static_cast<int64_t>(std::hash<std::string>()(value.toStringRef())));
    if (value.isDevice()) return put(kOther, 2);
    return value.isList() && add_list(value);
  }

 private:
  bool put(int64_t kind, int64_t number = 0) {
    key_.push_back(kind);
    key_.push_back(number);
    return true;
  }

  bool add_list(const c10::IValue& list) {
    const auto items = list.toListRef();
    put(kList, static_cast<int64_t>(items.size()));
    for (const c10::IValue& item : items)
      if (!add(item)) return false;
    return true;
  }

  bool add_tensor(const at::Tensor& tensor) {
    if (!tensor.defined()) return put(kNone);
    const int64_t flags = tensor.is_cuda() | tensor.is_conj() << 1 | tensor.is_neg() << 2 |
                          tensor.unsafeGetTensorImpl()->is_wrapped_number() << 3;
    put(kTensor, static_cast<int64_t>(tensor.scalar_type()) << 8 | flags);
    key_.push_back(tensor.dim());
    key_.insert(key_.end(), tensor.sizes().begin(), tensor.sizes().end());
    key_.insert(key_.end(), tensor.strides().begin(), tensor.strides().end());
    return true;
  }

  const bool floats_matter_;
  std::vector<int64_t>& key_;
};

}  // namespace

std::optional<Result> Result::of(const c10::IValue& value) {
  Result result{.is_list = value.isList()};
  bool plain = true;
  const auto add = [&](const at::Tensor& t) {
    plain = plain && (!t.defined() || (t.layout() == c10::kStrided && !t.is_quantized()));
    if (plain) result.layouts.push_back(Layout::of(t));
  };
  if (value.isTensor()) {
    add(value.toTensor());
  } else {
    for (const c10::IValue& item : value.toListRef()) add(item.toTensor());
  }
  return plain ? std::optional(std::move(result)) : std::nullopt;
}

bool make_key(const std::vector<c10::IValue>& arguments, bool floats_matter, std::vector<int64_t>* key) {
  key->clear();
  KeyMaker maker(floats_matter, key);
  for (const c10::IValue& argument : arguments)
    if (!maker.add(argument)) return false;
  return true;
}

size_t ShapeTable::Hash::operator()(const std::vector<int64_t>& key) const {
  uint64_t hash = key.size();
  for (const int64_t word : key) {
    hash = (hash ^ static_cast<uint64_t>(word)) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace standin
