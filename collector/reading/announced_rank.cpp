// The keys that Gloo's ranks, and torchrun's agents, set.
#include "collector/reading/announced_rank.h"

#include <algorithm>
#include <charconv>
#include <regex>
#include <string>

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

struct NodeKey {
  std::string_view rendezvous;
  std::int32_t node_rank;
};

// torchelastic (agent/server/api.py): "/none/torchelastic/role_info0", in newer versions with a slash before
// the number.
std::optional<NodeKey> node_in(std::string_view key) {
  constexpr std::string_view kRole = "torchelastic/role_info";
  std::size_t at = key.rfind(kRole);
  if (at == key.npos) return std::nullopt;
  at += kRole.size();
  if (at < key.size() && key[at] == '/') ++at;
  NodeKey found{key.substr(0, at), 0};
  auto [end, error] = std::from_chars(key.data() + at, key.data() + key.size(), found.node_rank);
  bool whole = error == std::errc{} && end == key.data() + key.size() && found.node_rank >= 0;
  return whole ? std::optional(found) : std::nullopt;
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

std::optional<JoinedGroup> find_joined_group(const model::Process& process) {
  std::optional<JoinedGroup> joined;
  model::for_each(process.file, {trace::Operation::kProcessGroup},
                  [&](model::EventPlace place, const trace::Record& record) {
                    auto made = trace::payload_of<trace::payload::ProcessGroup>(record);
                    bool failed = record.end && made.result;
                    bool sound = !failed && made.rank >= 0 && made.rank < made.size;
                    if (sound && (!joined || made.size > joined->size))
                      joined = {made.rank, made.size, place};
                  });
  return joined;
}

std::vector<AnnouncedNode> find_announced_nodes(const model::Process& process) {
  std::vector<AnnouncedNode> nodes;
  model::for_each(process.file, {trace::Operation::kStoreKey},
                  [&](model::EventPlace place, const trace::Record& record) {
                    auto request = trace::payload_of<trace::payload::StoreKey>(record);
                    auto operation = static_cast<trace::StoreOperation>(request.operation);
                    for (AnnouncedNode& node : nodes) node.awaits.reset();
                    auto key = node_in(process.file.string(request.key));
                    if (!key) return;
                    auto known = std::find_if(nodes.begin(), nodes.end(), [&](const AnnouncedNode& node) {
                      return node.rendezvous == key->rendezvous;
                    });
                    if (operation == trace::StoreOperation::kSet && known == nodes.end())
                      nodes.push_back({key->rendezvous, key->node_rank, place, std::nullopt});
                    if (operation == trace::StoreOperation::kWait && known != nodes.end())
                      known->awaits = key->node_rank;
                  });
  return nodes;
}

}  // namespace ddpscope::reading
