// Waits of main threads first, then who did not wait meanwhile, then what it wrote.
#include "collector/patterns/message_saves.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "collector/ordering/losses.h"
#include "trace/hand_overs.h"

namespace ddpscope::patterns {
namespace {

using model::kMainThread;
using ordering::ThreadId;
using trace::Operation;

// Times of the job, ns.
struct Wait {
  model::EventRef event;
  std::int64_t from_ns, to_ns;
};

struct Main {
  std::uint32_t process;
  std::vector<Wait> waits;          // as long as a slow save, by time
  std::vector<std::int64_t> woken;  // by another thread, ascending
};

// What a wait tells of its length is at most the truth.
void note_wait(const model::Job& job, std::uint32_t process, model::EventPlace place,
               const trace::Record& record, Main& main) {
  auto taken = trace::payload_of<trace::payload::HandOver>(record);
  auto kind = static_cast<trace::HandOverKind>(taken.kind);
  if (kind != trace::HandOverKind::kCondition && kind != trace::HandOverKind::kFutex) return;
  std::int64_t to = job.begin_ns(process, record);
  if (!main.woken.empty() && main.woken.back() == to) return;  // by several threads
  main.woken.push_back(to);
  std::uint64_t ticks = std::uint64_t{taken.number} << trace::kWaitedShift;
  std::int64_t from = job.time_ns(process, record.begin - std::min(ticks, record.begin));
  if (taken.from_thread && taken.number && to - from >= kSlowSave)
    main.waits.push_back({{process, place}, from, to});
}

std::map<std::int32_t, Main> find_mains(const model::Job& job) {
  std::map<std::int32_t, Main> mains;
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    if (job.processes[i].role != model::Role::kRank) continue;
    Main& main = mains[job.processes[i].rank];
    main = {i, {}, {}};
    model::for_each_in_time(job.processes[i].file, {Operation::kHandOver},
                            [&](model::EventPlace place, const trace::Record& record) {
                              if (record.thread == kMainThread) note_wait(job, i, place, record, main);
                            });
  }
  return mains;
}

bool are_all(const model::Job& job, const std::map<std::int32_t, Main>& mains) {
  return mains.size() >= 2 && mains.size() >= static_cast<std::size_t>(std::max(job.world_size, 0));
}

// All but one wait.
struct Standstill {
  std::int64_t from_ns, to_ns;
  std::vector<Waiter> waiters;
};

class MessageSaves {
 public:
  MessageSaves(const model::Job& job, const std::map<std::int32_t, Main>& mains,
               const std::vector<files::WrittenFile>& written, const std::vector<DataParallelGroup>& groups,
               const ordering::HappensBefore& order)
      : job_(job), mains_(mains), groups_(groups), order_(order), savings_(job, written) {}

  std::vector<SlowSave> find() {
    std::vector<SlowSave> found;
    for (const auto& [rank, saver] : mains_)
      for (Standstill& still : standstills(rank, saver))
        if (auto save = judge(rank, saver, still)) found.push_back(std::move(*save));
    return found;
  }

 private:
  // From the waits of the first of the others on.
  std::vector<Standstill> standstills(std::int32_t rank, const Main& saver) const {
    std::vector<Standstill> all;
    auto first = std::ranges::find_if(mains_, [&](const auto& other) { return other.first != rank; });
    for (const Wait& wait : first->second.waits) {
      Standstill still{
          std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(), {}};
      for (const auto& [other, main] : mains_) {
        if (other == rank) continue;
        const Wait* own =
            longest_common(main, wait, job_.clock_error_between(main.process, first->second.process));
        std::int64_t error = job_.clock_error_between(main.process, saver.process);
        if (!own || error >= model::kUnaligned) break;
        still.from_ns = std::max(still.from_ns, own->from_ns + error);
        still.to_ns = std::min(still.to_ns, own->to_ns - error);
        still.waiters.push_back({other, own->event, own->from_ns});
      }
      bool of_all = still.waiters.size() + 1 == mains_.size();
      if (of_all && still.to_ns - still.from_ns >= kSlowSave) all.push_back(std::move(still));
    }
    return all;
  }

  static const Wait* longest_common(const Main& main, const Wait& with, std::int64_t error_ns) {
    const Wait* longest = nullptr;
    std::int64_t most = kSlowSave - 1;
    auto first = std::partition_point(main.waits.begin(), main.waits.end(),
                                      [&](const Wait& wait) { return wait.to_ns + error_ns < with.from_ns; });
    for (auto wait = first; wait != main.waits.end() && wait->from_ns - error_ns < with.to_ns; ++wait) {
      std::int64_t common = std::min(wait->to_ns, with.to_ns) - std::max(wait->from_ns, with.from_ns);
      if (common <= most) continue;
      most = common;
      longest = &*wait;
    }
    return longest;
  }

  std::optional<SlowSave> judge(std::int32_t rank, const Main& saver, Standstill& still) {
    // It was woken last before it began to save: what takes a second does not begin later than this.
    auto next = std::upper_bound(saver.woken.begin(), saver.woken.end(), still.to_ns - kSlowSave);
    std::int64_t since = next == saver.woken.begin() ? 0 : *std::prev(next);
    Saving saving = savings_.find({saver.process, {kMainThread}, since, still.to_ns, still.from_ns});
    if (saving.lost_ns < kSlowSave || !is_heard_of(saver, saving, still)) return std::nullopt;
    if (!is_training(rank, saving) || savings_.evaluates(saver.process, saving) ||
        shared_out(saving, since, still.to_ns))
      return std::nullopt;
    return SlowSave{rank, saver.process,           std::move(saving), still.from_ns, matching::kNone, 0,
                    0,    std::move(still.waiters)};
  }

  // In every run: who waits goes on only when the files are closed.
  bool is_heard_of(const Main& saver, const Saving& saving, const Standstill& still) const {
    return std::ranges::all_of(still.waiters, [&](const Waiter& waiter) {
      ThreadId waits{waiter.event.process, kMainThread};
      return order_.known({saver.process, kMainThread}, waits, job_.begin_ns(waiter.event)) >= saving.end_ns;
    });
  }

  // As of NCCL: gradients have been exchanged since its last save.
  bool is_training(std::int32_t rank, const Saving& saving) {
    std::size_t exchanged = 0;
    for (const DataParallelGroup& group : groups_)
      if (auto own = group.of_rank.find(rank); own != group.of_rank.end())
        exchanged += own->second.times.count_before(saving.begin_ns);
    std::size_t& before = exchanged_[rank];
    bool trained = exchanged > before;
    if (trained) before = exchanged;
    return trained;
  }

  bool shared_out(const Saving& saving, std::int64_t since, std::int64_t to_ns) const {
    std::uint64_t own = savings_.bytes_of(saving);
    std::size_t writers = 0;
    for (const auto& [rank, main] : mains_) {
      std::uint64_t bytes = savings_.bytes_anew(main.process, since, to_ns);
      writers += bytes > 0 && bytes >= own / 4;
    }
    return writers * 2 > mains_.size();
  }

  const model::Job& job_;
  const std::map<std::int32_t, Main>& mains_;
  const std::vector<DataParallelGroup>& groups_;
  const ordering::HappensBefore& order_;
  Savings savings_;
  std::map<std::int32_t, std::size_t> exchanged_;  // by rank: until its last save
};

}  // namespace

std::vector<ThreadId> threads_of_message_saves(const model::Job& job,
                                               const matching::Collectives& collectives,
                                               const std::vector<files::WrittenFile>& written) {
  std::vector<ThreadId> threads;
  if (written.empty() || !collectives.communicators.empty()) return threads;
  std::map<std::int32_t, Main> mains = find_mains(job);
  bool waits = std::ranges::any_of(mains, [](const auto& main) { return !main.second.waits.empty(); });
  if (!waits || !are_all(job, mains)) return threads;
  for (const auto& [rank, main] : mains) threads.push_back({main.process, kMainThread});
  return threads;
}

std::vector<SlowSave> find_message_saves(const model::Job& job, const matching::Collectives& collectives,
                                         const std::vector<files::WrittenFile>& written,
                                         const std::vector<DataParallelGroup>& groups,
                                         const ordering::HappensBefore& order) {
  if (!collectives.communicators.empty()) return {};
  std::map<std::int32_t, Main> mains = find_mains(job);
  if (!are_all(job, mains)) return {};
  return MessageSaves(job, mains, written, groups, order).find();
}

bool waits_are_known(const model::Job& job) {
  std::map<std::int32_t, Main> mains = find_mains(job);
  return are_all(job, mains) && ordering::complete_from_ns(job) == std::numeric_limits<std::int64_t>::min() &&
         std::ranges::none_of(mains, [](const auto& main) { return main.second.woken.empty(); });
}

}  // namespace ddpscope::patterns
