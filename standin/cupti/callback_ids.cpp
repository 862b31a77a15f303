// The tables of callback ids, read from NVIDIA's headers when the build is configured.
#include "standin/cupti/callback_ids.h"

#include <array>
#include <string_view>
#include <unordered_map>

namespace ddpscope::standin::cupti {
namespace {

struct Entry {
  Api api;
  const char* name;
  CUpti_CallbackId id;
};

constexpr Entry kEntries[] = {
#define CALLBACK_ID(api, name, id) {Api::api, #name, id},
#include "callback_ids.def"
#undef CALLBACK_ID
};

/// "cudaMalloc_v3020" without its version.
std::string_view function_of(std::string_view name) {
  const std::size_t version = name.rfind("_v");
  if (version == name.npos || name.find_first_not_of("0123456789", version + 2) != name.npos) return name;
  return name.size() - version > 4 ? name.substr(0, version) : name;  // _v2 belongs to the function's name
}

struct Tables {
  std::array<std::unordered_map<std::string_view, CUpti_CallbackId>, 2> ids;
  std::array<std::unordered_map<CUpti_CallbackId, const char*>, 2> names;

  Tables() {
    for (const Entry& entry : kEntries) {
      const auto api = static_cast<std::size_t>(entry.api);
      CUpti_CallbackId& id = ids[api][function_of(entry.name)];
      if (id < entry.id) id = entry.id;  // newer versions have larger numbers
      names[api][entry.id] = entry.name;
    }
  }
};

const Tables& tables() {
  static const auto* all = new Tables;
  return *all;
}

}  // namespace

CUpti_CallbackId callback_id(Api api, const char* function) {
  const auto& ids = tables().ids[static_cast<std::size_t>(api)];
  const auto found = ids.find(function);
  return found == ids.end() ? 0 : found->second;
}

const char* callback_name(Api api, CUpti_CallbackId id) {
  const auto& names = tables().names[static_cast<std::size_t>(api)];
  const auto found = names.find(id);
  return found == names.end() ? nullptr : found->second;
}

}  // namespace ddpscope::standin::cupti
