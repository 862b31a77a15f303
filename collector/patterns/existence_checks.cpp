// Goes through the first looks of each rank in a stretch.
#include "collector/patterns/existence_checks.h"

#include <algorithm>

#include "collector/ordering/file_edges.h"

namespace ddpscope::patterns {
namespace {

using files::FileEvent;
using files::Name;
using ordering::Trust;
using trace::Operation;

bool asks(const model::Job& job, const FileEvent& event) {
  bool finds = !event.error && event.made == files::kNoName;
  return files::is_look(event) && (files::is_miss(event) || finds) &&
         job.processes[event.event.process].role == model::Role::kRank;
}

bool is_judged(const files::SharedNames& names, Name name) {
  return name != files::kNoName && names.judged[name];
}

bool makes_file(const FileEvent& event) {
  return event.made != files::kNoName && event.operation != Operation::kMakeDirectory;
}

// Names that come to be by renaming, and for which no thread waits. A look that finds one comes after the
// renaming, as a synchronisation; who looks once is told by luck all the same.
std::set<Name> find_published(const files::SharedNames& names, const ordering::HappensBefore& order) {
  std::set<Name> published, awaited;
  for (std::uint32_t i = 0; i < names.events.size(); ++i) {
    const FileEvent& event = names.events[i];
    if (makes_file(event) && (event.operation == Operation::kRename || event.operation == Operation::kLink))
      published.insert(event.made);
    if (files::is_look(event) && files::is_miss(event) && order.synchronises(i)) awaited.insert(event.name);
  }
  std::erase_if(published, [&](Name name) { return awaited.contains(name); });
  return published;
}

}  // namespace

ExistenceChecks::ExistenceChecks(const model::Job& job, const files::SharedNames& names,
                                 const ordering::HappensBefore& order)
    : names_(names), order_(order) {
  std::map<Name, std::set<std::int32_t>> missed, found;
  std::set<Name> published = find_published(names, order);
  for (std::uint32_t i = 0; i < names.events.size(); ++i) {
    if (makes_file(event(i)) && is_judged(names, event(i).made)) makers_[event(i).made].push_back(i);
    if (!asks(job, event(i)) || !is_judged(names, event(i).name)) continue;
    if (order.synchronises(i) && !published.contains(event(i).name)) continue;
    (files::is_miss(event(i)) ? missed : found)[event(i).name].insert(event(i).rank);
    asked_[event(i).name][event(i).rank].push_back(i);
  }
  std::erase_if(asked_, [&](const auto& entry) {
    return !missed.contains(entry.first) || !found.contains(entry.first) || !makers_.contains(entry.first);
  });
}

std::vector<DivergentCheck> ExistenceChecks::find(const Stretches& stretches,
                                                  const std::set<std::int32_t>& one) const {
  std::vector<DivergentCheck> checks;
  for (const auto& [name, asked] : asked_)
    for (DivergentCheck& check : find_of_name(name, stretches, one)) checks.push_back(std::move(check));
  return checks;
}

// The first look of each rank tells: later ones may find what the rank has made itself.
std::vector<DivergentCheck> ExistenceChecks::find_of_name(Name name, const Stretches& stretches,
                                                          const std::set<std::int32_t>& one) const {
  DivergentCheck check{};
  for (auto [rank, to_ns] : stretches.to_ns) {
    auto asked = asked_.at(name).find(rank);
    if (asked == asked_.at(name).end()) return {};
    auto from = stretches.from_ns.find(rank);
    auto first = std::find_if(asked->second.begin(), asked->second.end(), [&](Look look) {
      return from == stretches.from_ns.end() || event(look).begin_ns >= from->second;
    });
    if (first == asked->second.end() || event(*first).begin_ns >= to_ns) return {};
    (files::is_miss(event(*first)) ? check.missed : check.found)[rank] = *first;
  }
  auto is_one = [&](const std::map<std::int32_t, Look>& side) {
    return std::equal(side.begin(), side.end(), one.begin(), one.end(),
                      [](const auto& look, std::int32_t rank) { return look.first == rank; });
  };
  if (check.missed.empty() || check.found.empty() || (!is_one(check.missed) && !is_one(check.found)))
    return {};
  if (!complete(check, name, stretches)) return {};
  return {std::move(check)};
}

bool ExistenceChecks::complete(DivergentCheck& check, Name name, const Stretches& stretches) const {
  for (std::uint32_t maker : makers_.at(name)) {
    const FileEvent& made = event(maker);
    auto missed = check.missed.find(made.rank);
    if (missed == check.missed.end() || made.begin_ns < event(missed->second).begin_ns ||
        made.begin_ns >= stretches.to_ns.at(made.rank))
      continue;
    check.made = maker;
    for (bool assumed : {false, true})
      for (auto [rank, look] : check.found) {
        auto span = ordering::span_of(event(look));
        if (order_.before(ordering::span_of(made), span, Trust::kSeen)) continue;
        if (order_.before(ordering::span_of(made), span, Trust::kAssumed) != assumed) continue;
        check.unordered = look;
        check.maybe_ordered = assumed;
        return true;
      }
  }
  return false;
}

std::vector<ordering::ThreadId> looking_threads(const model::Job& job, const files::SharedNames& names) {
  std::set<Name> missed;
  for (const FileEvent& event : names.events)
    if (asks(job, event) && files::is_miss(event) && is_judged(names, event.name)) missed.insert(event.name);
  std::set<ordering::ThreadId> threads;
  for (const FileEvent& event : names.events)
    if (missed.contains(event.name) && (asks(job, event) || makes_file(event)))
      threads.insert(ordering::span_of(event).thread);
  return {threads.begin(), threads.end()};
}

}  // namespace ddpscope::patterns
