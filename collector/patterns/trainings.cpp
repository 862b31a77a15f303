// Counts updates of optimizers, then passes through the samples.
#include "collector/patterns/trainings.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "collector/files/read_items.h"
#include "collector/model/numbering.h"
#include "collector/patterns/optimizer_updates.h"

namespace ddpscope::patterns {
namespace {

using files::Item;
using files::ItemStream;

constexpr std::size_t kLeastUpdates = 3;    // fewer try something out
constexpr std::size_t kLeastPercent = 180;  // of the samples, read in all: two passes, all but a last batch

class UpdateCount {
 public:
  UpdateCount(const model::Job& job, std::uint32_t process)
      : job_(job), process_(process), file_(job.processes[process].file) {}

  std::optional<Training> find() {
    model::for_each_in_time(
        file_, trace::OperationSet{trace::Operation::kLaunch} | optimizer_.ranges(),
        [&](model::EventPlace place, const trace::Record& record) { take(place, record); });
    if (training_.rounds < kLeastUpdates) return std::nullopt;
    return training_;
  }

 private:
  void take(model::EventPlace place, const trace::Record& record) {
    if (trace::operation_of(record.call) != trace::Operation::kLaunch) return optimizer_.take(record);
    bool updates = optimizer_.has(record.thread, trace::payload_of<trace::payload::Launch>(record).name);
    if (updates && !in_update_) {
      std::int64_t at = job_.time_ns(process_, record.begin);
      if (training_.rounds++ == 0) {
        training_.first_ns = at;
        training_.first = {process_, place};
      }
      training_.last_ns = at;
    }
    in_update_ = updates;
  }

  const model::Job& job_;
  std::uint32_t process_;
  const trace::TraceFile& file_;
  OptimizerUpdates optimizer_{file_};
  bool in_update_ = false;
  Training training_{job_.processes[process_].rank, 0, 0, 0, true, {}};
};

class Passes {
 public:
  explicit Passes(std::int32_t rank) : training_{rank, 0, 0, 0, false, {}} {}

  void add(const ItemStream& stream) {
    for (const Item& item : stream.items) {
      different_.add(item.key);
      ++reads_;
      training_.last_ns = std::max(training_.last_ns, item.at_ns);
      if (!item.exact || (known_ && item.at_ns >= training_.first_ns)) continue;
      known_ = true;
      training_.first_ns = item.at_ns;
      training_.first = {stream.process, item.place};
    }
  }

  std::optional<Training> find() {
    std::size_t different = different_.size();
    bool again = reads_ * 100 >= different * kLeastPercent;
    if (!known_ || different < kLeastSamples || !again) return std::nullopt;
    training_.rounds = (reads_ + different / 2) / different;
    return training_;
  }

 private:
  model::Numbering<std::uint64_t> different_;
  std::size_t reads_ = 0;
  bool known_ = false;  // when the first was read
  Training training_;
};

// Workers show what is read for a rank, whether it left a trace of its own or not.
std::set<std::int32_t> ranks_read_for(const model::Job& job) {
  std::set<std::int32_t> ranks;
  for (const model::Process& process : job.processes)
    if (process.rank >= 0) ranks.insert(process.rank);
  return ranks;
}

}  // namespace

std::vector<Training> find_trainings(const model::Job& job) {
  std::map<std::int32_t, Training> found;
  for (std::uint32_t process = 0; process < job.processes.size(); ++process) {
    if (job.processes[process].role != model::Role::kRank) continue;
    if (auto training = UpdateCount(job, process).find()) found.emplace(training->rank, *training);
  }
  for (std::int32_t rank : ranks_read_for(job)) {
    if (found.contains(rank)) continue;
    Passes passes(rank);
    for (const ItemStream& stream : files::find_item_streams(job, rank)) passes.add(stream);
    if (auto training = passes.find()) found.emplace(rank, *training);
  }
  std::vector<Training> trainings;
  for (const auto& [rank, training] : found) trainings.push_back(training);
  return trainings;
}

}  // namespace ddpscope::patterns
