// Where `ddpscope run` saw the main thread of a process stand.
#pragma once
#include <cstdint>
#include <vector>

#include "collector/merged/job_tracks.h"

namespace ddpscope::merged {

// The stretches of a process's sightings in which its main thread recorded nothing. A look tells where a
// thread is at that moment; that it was there until the next one, too, only what lies between them can tell.
class Standing {
 public:
  explicit Standing(const model::Process& process);

  // A record of the main thread. `several`: it stands for many calls, anywhere from its begin to its end.
  void take(const trace::Record& record, bool several);

  // visit(sighting, first_ticks, last_ticks): from one look to another, with nothing recorded in between.
  template <class Visit>
  void for_each_stretch(Visit&& visit) const {
    for (const Looks& looks : looks_) {
      std::size_t from = 0;
      std::int32_t met = 0;
      for (std::size_t gap = 0; gap < looks.gaps(); ++gap) {
        met += looks.changes[gap];
        if (met == 0) continue;
        if (from < gap) visit(*looks.sighting, looks.ticks_of(from), looks.ticks_of(gap));
        from = gap + 1;
      }
      if (from < looks.gaps()) visit(*looks.sighting, looks.ticks_of(from), looks.ticks_of(looks.gaps()));
    }
  }

 private:
  // The looks of one sighting, of which the first and the last are known: those between are evenly spread.
  struct Looks {
    const model::Sighting* sighting;
    std::vector<std::int32_t> changes;  // by gap between two looks: of how much was recorded in it

    std::size_t gaps() const { return changes.size() - 1; }
    std::uint64_t ticks_of(std::size_t look) const;
    std::size_t gap_of(std::uint64_t ticks) const;  // of the nearest, where it lies outside
  };

  void take(std::uint64_t first_ticks, std::uint64_t last_ticks);

  std::vector<Looks> looks_;  // in order of time
};

void write_sightings(Making& making, std::uint32_t process, const Standing& standing, LaneTracks& tracks);

}  // namespace ddpscope::merged
