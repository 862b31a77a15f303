// By host, pid, start time and the moment at which the file was opened.
#include "collector/reading/copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>
#include <utility>

namespace ddpscope::reading {
namespace {

using model::Process;

auto identity_of(const Process& process) {
  const trace::FileHeader& h = process.header();
  return std::tuple(h.host_id, h.pid, h.start_time, h.opened.ticks, h.opened.monotonic_ns);
}

// What a copy that was made early does not know yet.
std::uint64_t records_of(const Process& process) {
  std::uint64_t records = 0;
  for (const trace::RecordSpan& span : process.file.records()) records += span.records.size();
  return records;
}

bool is_better(const Process& a, const Process& b) {
  auto worth = [](const Process& process) {
    return std::tuple(process.file.damage().empty(), process.header().ended, process.header().latest.ticks,
                      records_of(process));
  };
  if (worth(a) != worth(b)) return worth(a) > worth(b);
  return a.file.name().size() < b.file.name().size();
}

}  // namespace

std::optional<Error> leave_out_copies(std::vector<Process>& processes) {
  std::map<decltype(identity_of(processes.front())), std::size_t> best;
  std::vector<std::size_t> left_out;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    auto [known, fresh] = best.emplace(identity_of(processes[i]), i);
    if (fresh) continue;
    bool better = is_better(processes[i], processes[known->second]);
    left_out.push_back(better ? std::exchange(known->second, i) : i);
  }
  if (left_out.empty()) return std::nullopt;
  const Process& first = processes[left_out.front()];
  const Process& kept = processes[best.at(identity_of(first))];
  std::string more = left_out.size() > 1 ? fmt::format(" (and {} more)", left_out.size() - 1) : "";
  Error told{fmt::format("left out: a copy of {}{}",
                         std::filesystem::path(kept.file.name()).filename().string(), more),
             first.file.name(), ""};
  std::vector<Process> rest;
  std::sort(left_out.begin(), left_out.end());
  for (std::size_t i = 0; i < processes.size(); ++i)
    if (!std::binary_search(left_out.begin(), left_out.end(), i)) rest.push_back(std::move(processes[i]));
  processes = std::move(rest);
  return told;
}

}  // namespace ddpscope::reading
