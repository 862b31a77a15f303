// The keys that Gloo's ranks set.
#include "collector/reading/announced_rank.h"

#include <regex>
#include <string>
#include <string_view>

#include "trace/streams.h"

namespace ddpscope::reading {
namespace {

// What torch.distributed's default group sets under its own prefix: "/default_pg/0/0/rank_3", since PyTorch 2
// "/default_pg/0//cpu//0/3": 3. Groups within it have a prefix more.
std::optional<std::int32_t> rank_in(std::string_view key) {
  static const std::regex kRank("default_pg/(?:.*/rank_|[0-9]+//[a-z]+//[0-9]+/)([0-9]{1,9})$");
  std::cmatch found;
  bool announces = key.find("default_pg/") != std::string_view::npos &&
                   std::regex_search(key.data(), key.data() + key.size(), found, kRank);
  return announces ? std::optional(std::stoi(found[1])) : std::nullopt;
}

}  // namespace

std::optional<AnnouncedRank> find_announced_rank(const model::Process& process) {
  std::optional<AnnouncedRank> announced;
  model::for_each(process.file, {trace::Operation::kStoreKey},
                  [&](model::EventPlace place, const trace::Record& record) {
                    auto request = trace::payload_of<trace::payload::StoreKey>(record);
                    auto operation = static_cast<trace::StoreOperation>(request.operation);
                    if (announced || operation != trace::StoreOperation::kSet) return;
                    if (auto rank = rank_in(process.file.string(request.key))) announced = {*rank, place};
                  });
  return announced;
}

}  // namespace ddpscope::reading
