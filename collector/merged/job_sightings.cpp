// Divides a sighting at the looks between which something was recorded.
#include "collector/merged/job_sightings.h"

#include <algorithm>

namespace ddpscope::merged {
namespace {

constexpr std::size_t kMostLooks = 1'000'000;  // told apart, of a process

}  // namespace

Standing::Standing(const model::Process& process) {
  for (const model::Sighting& sighting : process.sightings) {
    if (sighting.first_ticks >= sighting.last_ticks) continue;  // one look says nothing of what came after it
    std::size_t most = std::max<std::size_t>(kMostLooks / process.sightings.size(), 2);
    looks_.push_back(
        {&sighting, std::vector<std::int32_t>(std::clamp<std::size_t>(sighting.looks, 2, most))});
  }
}

std::uint64_t Standing::Looks::ticks_of(std::size_t look) const {
  if (look == gaps()) return sighting->last_ticks;
  std::uint64_t all = sighting->last_ticks - sighting->first_ticks;
  return sighting->first_ticks + all / gaps() * look + all % gaps() * look / gaps();
}

std::size_t Standing::Looks::gap_of(std::uint64_t ticks) const {
  auto all = static_cast<double>(sighting->last_ticks - sighting->first_ticks);
  std::uint64_t since =
      std::clamp(ticks, sighting->first_ticks, sighting->last_ticks) - sighting->first_ticks;
  auto gap = static_cast<std::size_t>(static_cast<double>(since) / all * static_cast<double>(gaps()));
  return std::min(gap, gaps() - 1);
}

void Standing::take(const trace::Record& record, bool several) {
  if (several) return take(record.begin, record.end ? record.end : ~std::uint64_t{0});
  take(record.begin, record.begin);
  if (record.end) take(record.end, record.end);  // inside of one call it stands
}

void Standing::take(std::uint64_t first_ticks, std::uint64_t last_ticks) {
  auto before = [&](const Looks& looks) { return looks.sighting->last_ticks < first_ticks; };
  for (auto at = std::partition_point(looks_.begin(), looks_.end(), before);
       at != looks_.end() && at->sighting->first_ticks <= last_ticks; ++at) {
    ++at->changes[at->gap_of(first_ticks)];
    --at->changes[at->gap_of(last_ticks) + 1];
  }
}

void write_sightings(Making& making, std::uint32_t process, const Standing& standing, LaneTracks& tracks) {
  const model::Job& job = making.facts.job;
  CallSlot slot{};
  standing.for_each_stretch([&](const model::Sighting& sighting, std::uint64_t first, std::uint64_t last) {
    Event event;
    event.begin_ns = job.time_ns(process, first);
    event.end_ns = std::max(event.begin_ns, job.time_ns(process, last));
    event.name =
        making.writer.name(sighting.inside.empty() ? std::string(kOwnCode) : sighting.inside, Kind::kSeen);
    tracks.add(TrackKind::kSightings, 0, event, slot_of(slot), [] { return std::string("seen by run"); });
  });
}

}  // namespace ddpscope::merged
