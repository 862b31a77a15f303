// First rounds that one member comes to late, then what it wrote until then.
#include "collector/patterns/slow_saves.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "collector/patterns/training_steps.h"

namespace ddpscope::patterns {
namespace {

using files::WrittenFile;
using matching::kNone;
using matching::Member;

// Who waits for whom in a round.
struct Standstill {
  std::uint32_t last;  // member
  std::int64_t from_ns, to_ns;
};

class SlowSaves {
 public:
  SlowSaves(const model::Job& job, const matching::Collectives& collectives,
            const ordering::DeviceOrder& device_order, const std::vector<WrittenFile>& written)
      : job_(job), collectives_(collectives), device_order_(device_order), savings_(job, written) {}

  std::vector<SlowSave> find(const Rounds& rounds) {
    std::vector<SlowSave> found;
    for (const Round& round : rounds.all()) {
      auto still = standstill(round);
      if (!still || still->to_ns - still->from_ns < kSlowSave) continue;
      if (auto save = judge(round, *still)) found.push_back(std::move(*save));
    }
    return found;
  }

 private:
  const Member& member_of(const Round& round, std::uint32_t member) const {
    return collectives_.communicators[round.communicator].members[member];
  }

  // All but the last to come wait for it; from when their hosts do.
  std::optional<Standstill> standstill(const Round& round) const {
    const auto& members = collectives_.communicators[round.communicator].members;
    std::uint32_t last = 0;
    for (std::uint32_t m = 1; m < members.size(); ++m)
      if (begin_ns(members[m], round) > begin_ns(members[last], round)) last = m;
    Standstill still{last, std::numeric_limits<std::int64_t>::min(), begin_ns(members[last], round)};
    for (std::uint32_t m = 0; m < members.size(); ++m) {
      if (m == last) continue;
      std::uint32_t wait = device_order_.completions[members[m].calls[round.ordinal]].wait;
      if (wait == kNone) return std::nullopt;
      std::int64_t error_ns = job_.clock_error_between(members[m].process, members[last].process);
      still.from_ns = std::max(still.from_ns, device_order_.waits[wait].begin_ns + error_ns);
    }
    return still;
  }

  std::int64_t begin_ns(const Member& member, const Round& round) const {
    return collectives_.begin_ns_at(member, round.ordinal);
  }

  std::optional<SlowSave> judge(const Round& round, const Standstill& still) {
    const Member& saver = member_of(round, still.last);
    std::int64_t since = round.ordinal ? collectives_.begin_ns_at(saver, round.ordinal - 1)
                                       : std::numeric_limits<std::int64_t>::min();
    Saving saving =
        savings_.find({saver.process, threads_of(round, saver), since, still.to_ns, still.from_ns});
    if (saving.lost_ns < kSlowSave || !is_training(saver, saving)) return std::nullopt;
    if (savings_.evaluates(saver.process, saving) || shared_out(round, still, saving, since))
      return std::nullopt;
    return SlowSave{saver.rank,         saver.process, std::move(saving), still.from_ns,
                    round.communicator, round.ordinal, still.last};
  }

  // That issues the collective, and that waits for it.
  std::vector<std::uint16_t> threads_of(const Round& round, const Member& saver) const {
    std::uint32_t call = saver.calls[round.ordinal];
    std::vector<std::uint16_t> threads{collectives_.calls.form(call).thread};
    std::uint32_t wait = device_order_.completions[call].wait;
    if (wait != kNone) threads.push_back(device_order_.waits[wait].thread);
    return threads;
  }

  // Gradients have been reduced since its last save.
  bool is_training(const Member& saver, const Saving& saving) {
    std::int64_t& saved_ns = saved_[saver.process];
    std::uint32_t first = collectives_.first_of_process[saver.process];
    std::uint32_t end = collectives_.first_of_process[saver.process + 1];
    bool trained = false;
    for (std::uint32_t call = end; !trained && call-- > first;) {
      std::int64_t at = collectives_.calls.begin_ns(call);
      if (at < saved_ns) break;
      trained = at < saving.begin_ns && is_reduction(collectives_.calls.signature(call));
    }
    if (trained) saved_ns = saving.end_ns;
    return trained;
  }

  // Most members write about as much: each its own part, or its own copy.
  bool shared_out(const Round& round, const Standstill& still, const Saving& saving,
                  std::int64_t since) const {
    const auto& members = collectives_.communicators[round.communicator].members;
    std::uint64_t own = savings_.bytes_of(saving);
    std::size_t writers = 0;
    for (const Member& member : members) {
      std::uint64_t bytes = savings_.bytes_anew(member.process, since, still.to_ns);
      writers += bytes > 0 && bytes >= own / 4;
    }
    return writers * 2 > members.size();
  }

  const model::Job& job_;
  const matching::Collectives& collectives_;
  const ordering::DeviceOrder& device_order_;
  Savings savings_;
  std::map<std::uint32_t, std::int64_t> saved_;  // by process: its last save's end
};

}  // namespace

std::vector<SlowSave> find_slow_saves(const model::Job& job, const matching::Collectives& collectives,
                                      const ordering::DeviceOrder& device_order, const Rounds& rounds,
                                      const std::vector<WrittenFile>& written) {
  return SlowSaves(job, collectives, device_order, written).find(rounds);
}

}  // namespace ddpscope::patterns
