// First rounds that one member comes to late, then what it wrote until then.
#include "collector/patterns/slow_saves.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "collector/files/record_kinds.h"
#include "collector/model/job_order.h"
#include "collector/patterns/training_steps.h"

namespace ddpscope::patterns {
namespace {

using files::WrittenFile;
using matching::Communicator;
using matching::kNone;
using matching::Member;
using trace::Operation;
namespace payload = trace::payload;

constexpr std::uint64_t kFewLaunches = 8;  // beside copies: casts, a counter

// Of one process: until when each opening was used, and what it enqueued.
struct ProcessUse {
  std::map<std::uint32_t, std::int64_t> closed;  // by opening
  std::map<std::string, std::int64_t> renamed;   // to this path, last
  std::vector<std::int64_t> launches, copies;    // when, ascending
};

// Who waits for whom in a round.
struct Standstill {
  std::uint32_t last;  // member
  std::int64_t from_ns, to_ns;
};

class SlowSaves {
 public:
  SlowSaves(const model::Job& job, const matching::Collectives& collectives,
            const ordering::DeviceOrder& device_order, const std::vector<WrittenFile>& written)
      : job_(job), collectives_(collectives), device_order_(device_order), written_(written) {
    for (std::uint32_t i = 0; i < written.size(); ++i) of_process_[written[i].open.process].push_back(i);
  }

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
    SlowSave save{round.communicator, round.ordinal, still.last, {}, still.to_ns, since, still.from_ns, 0};
    std::vector<std::pair<std::int64_t, std::int64_t>> stretches;
    for (std::uint32_t file : of_process_[saver.process]) {
      auto until = written_between(round, saver, written_[file], since, still.to_ns);
      if (!until) continue;
      save.files.push_back(file);
      save.begin_ns = std::min(save.begin_ns, written_[file].begin_ns);
      save.end_ns = std::max(save.end_ns, *until);
      stretches.emplace_back(std::max(written_[file].begin_ns, still.from_ns), *until);
    }
    save.lost_ns = covered(stretches);
    if (save.lost_ns < kSlowSave || !is_training(saver, save) || evaluates(saver, save)) return std::nullopt;
    return shared_out(round, save, since) ? std::nullopt : std::optional(std::move(save));
  }

  // Until when the saver had to do with a file that it writes anew, from its opening on, between the two
  // times.
  std::optional<std::int64_t> written_between(const Round& round, const Member& saver,
                                              const WrittenFile& file, std::int64_t from_ns,
                                              std::int64_t to_ns) {
    if (file.begin_ns < from_ns || file.end_ns > to_ns || !is_anew(file)) return std::nullopt;
    std::uint32_t call = saver.calls[round.ordinal];
    std::uint32_t wait = device_order_.completions[call].wait;
    bool by_its_thread = file.open_thread == collectives_.calls.form(call).thread ||
                         (wait != kNone && file.open_thread == device_order_.waits[wait].thread);
    if (!by_its_thread) return std::nullopt;
    const ProcessUse& use = use_of(saver.process);
    auto closed = use.closed.find(trace::payload_of<payload::FileOpen>(job_.record(file.open)).file);
    if (closed == use.closed.end() || closed->second > to_ns) return std::nullopt;
    auto renamed = use.renamed.find(file.path);
    bool then = renamed != use.renamed.end() && renamed->second <= to_ns;
    return then ? std::max(renamed->second, closed->second) : closed->second;
  }

  static bool is_anew(const WrittenFile& file) { return file.truncate && !file.append && !file.inherited; }

  static std::int64_t covered(std::vector<std::pair<std::int64_t, std::int64_t>> stretches) {
    std::sort(stretches.begin(), stretches.end());
    std::int64_t covered = 0, until = std::numeric_limits<std::int64_t>::min();
    for (auto [from, to] : stretches) {
      from = std::max(from, until);
      covered += std::max<std::int64_t>(to - from, 0);
      until = std::max(until, to);
    }
    return covered;
  }

  // Gradients have been reduced since its last save.
  bool is_training(const Member& saver, const SlowSave& save) {
    std::int64_t& saved_ns = saved_[saver.process];
    std::uint32_t first = collectives_.first_of_process[saver.process];
    std::uint32_t end = collectives_.first_of_process[saver.process + 1];
    bool trained = false;
    for (std::uint32_t call = end; !trained && call-- > first;) {
      std::int64_t at = collectives_.calls.begin_ns(call);
      if (at < saved_ns) break;
      trained = at < save.begin_ns && is_reduction(collectives_.calls.signature(call));
    }
    if (trained) saved_ns = save.end_ns;
    return trained;
  }

  bool evaluates(const Member& saver, const SlowSave& save) {
    const ProcessUse& use = use_of(saver.process);
    auto between = [&](const std::vector<std::int64_t>& times) {
      auto from = std::lower_bound(times.begin(), times.end(), save.begin_ns);
      return static_cast<std::uint64_t>(std::lower_bound(from, times.end(), save.end_ns) - from);
    };
    return between(use.launches) > between(use.copies) + kFewLaunches;
  }

  // Most members write about as much: each its own part, or its own copy.
  bool shared_out(const Round& round, const SlowSave& save, std::int64_t since) const {
    const auto& members = collectives_.communicators[round.communicator].members;
    std::uint64_t own = 0;
    for (std::uint32_t file : save.files) own += written_[file].bytes;
    std::size_t writers = 0;
    for (const Member& member : members) {
      auto files = of_process_.find(member.process);
      std::uint64_t bytes = 0;
      if (files != of_process_.end())
        for (std::uint32_t file : files->second)
          if (is_anew(written_[file]) && written_[file].begin_ns >= since &&
              written_[file].begin_ns <= begin_ns(members[save.member], round))
            bytes += written_[file].bytes;
      writers += bytes > 0 && bytes >= own / 4;
    }
    return writers * 2 > members.size();
  }

  const ProcessUse& use_of(std::uint32_t process) {
    auto [known, fresh] = uses_.try_emplace(process);
    if (!fresh) return known->second;
    ProcessUse& use = known->second;
    const trace::TraceFile& file = job_.processes[process].file;
    model::for_each_in_time(
        file,
        {Operation::kClose, Operation::kRename, Operation::kLaunch, Operation::kGraphLaunch,
         Operation::kCopy},
        [&](model::EventPlace, const trace::Record& record) {
          std::int64_t end = job_.end_ns(process, record);
          switch (trace::operation_of(record.call)) {
            case Operation::kClose:
              if (trace::find_call(record.call)->payload == trace::PayloadKind::kFileIo)
                use.closed[trace::payload_of<payload::FileIo>(record).file] = end;
              return;
            case Operation::kRename:
              use.renamed[std::string(file.string(trace::payload_of<payload::FileName>(record).target))] =
                  end;
              return;
            case Operation::kCopy:
              use.copies.insert(use.copies.end(), trace::payload_of<payload::Copy>(record).count, end);
              return;
            default:
              use.launches.insert(use.launches.end(),
                                  model::folded_calls(record, *trace::find_call(record.call)), end);
          }
        });
    return use;
  }

  const model::Job& job_;
  const matching::Collectives& collectives_;
  const ordering::DeviceOrder& device_order_;
  const std::vector<WrittenFile>& written_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> of_process_;  // files
  std::map<std::uint32_t, ProcessUse> uses_;
  std::map<std::uint32_t, std::int64_t> saved_;  // by process: its last save's end
};

}  // namespace

std::vector<SlowSave> find_slow_saves(const model::Job& job, const matching::Collectives& collectives,
                                      const ordering::DeviceOrder& device_order, const Rounds& rounds,
                                      const std::vector<WrittenFile>& written) {
  return SlowSaves(job, collectives, device_order, written).find(rounds);
}

}  // namespace ddpscope::patterns
