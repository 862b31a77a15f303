// The calls on each opening, then the files of a stretch of time.
#include "collector/patterns/savings.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "collector/model/job_order.h"

namespace ddpscope::patterns {
namespace {

using files::WrittenFile;
using trace::Operation;
namespace payload = trace::payload;

constexpr std::uint64_t kFewLaunches = 8;  // beside copies: casts, a counter

// Bytes a second. Pickling, compressing and copying to the host bring more by far, and so does any storage
// that is used for checkpoints; who writes down numbers as it computes them brings less.
constexpr std::int64_t kSlowestPace = 64 << 10;
// Of a folded run of calls, on the average: from here on it is not the buffer of a text file that is emptied
// now and then.
constexpr std::uint64_t kLargeCall = 64 << 10;

bool is_anew(const WrittenFile& file) { return file.truncate && !file.append && !file.inherited; }

using Stretches = std::vector<std::pair<std::int64_t, std::int64_t>>;

std::int64_t covered(Stretches stretches) {
  std::sort(stretches.begin(), stretches.end());
  std::int64_t covered = 0, until = std::numeric_limits<std::int64_t>::min();
  for (auto [from, to] : stretches) {
    from = std::max(from, until);
    covered += std::max<std::int64_t>(to - from, 0);
    until = std::max(until, to);
  }
  return covered;
}

// How long `bytes` take at most.
std::int64_t explained_by(std::uint64_t bytes) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 50;
  return static_cast<std::int64_t>(std::min(bytes, kMost) / kSlowestPace * 1'000'000'000 +
                                   std::min(bytes, kMost) % kSlowestPace * 1'000'000'000 / kSlowestPace);
}

}  // namespace

Savings::Savings(const model::Job& job, const std::vector<WrittenFile>& written)
    : job_(job), written_(written) {
  for (std::uint32_t i = 0; i < written.size(); ++i) of_process_[written[i].open.process].push_back(i);
}

Saving Savings::find(const SavingSpan& stretch) {
  Saving saving{{}, stretch.to_ns, stretch.from_ns, 0};
  Stretches stretches;
  std::int64_t taken = 0;
  for (std::uint32_t index : of_process_[stretch.process]) {
    const WrittenFile& file = written_[index];
    if (file.begin_ns < stretch.from_ns || file.end_ns > stretch.to_ns || !is_anew(file)) continue;
    if (!std::ranges::count(stretch.threads, file.open_thread)) continue;
    const ProcessUse& use = use_of(stretch.process);
    auto closed = use.closed.find(trace::payload_of<payload::FileOpen>(job_.record(file.open)).file);
    if (closed == use.closed.end() || closed->second > stretch.to_ns) continue;
    auto renamed = use.renamed.find(file.path);
    bool then = renamed != use.renamed.end() && renamed->second <= stretch.to_ns;
    std::int64_t until = then ? std::max(renamed->second, closed->second) : closed->second;
    saving.files.push_back(index);
    saving.begin_ns = std::min(saving.begin_ns, file.begin_ns);
    saving.end_ns = std::max(saving.end_ns, until);
    std::int64_t from = std::max(file.begin_ns, stretch.still_from_ns);
    stretches.emplace_back(from, until);
    taken += taken_by(file, from, until);
  }
  saving.lost_ns = std::min(covered(stretches), taken);
  return saving;
}

std::int64_t Savings::taken_by(const WrittenFile& file, std::int64_t from_ns, std::int64_t to_ns) {
  if (to_ns <= from_ns) return 0;
  Stretches inside{{std::clamp(file.begin_ns, from_ns, to_ns), std::clamp(file.open_ns, from_ns, to_ns)}};
  const ProcessUse& use = use_of(file.open.process);
  auto uses = use.uses.find(trace::payload_of<payload::FileOpen>(job_.record(file.open)).file);
  if (uses != use.uses.end())
    for (const Use& one : uses->second)
      if (one.inside)
        inside.emplace_back(std::clamp(one.from_ns, from_ns, to_ns), std::clamp(one.to_ns, from_ns, to_ns));
  std::int64_t in_calls = covered(std::move(inside));
  return in_calls + std::min(to_ns - from_ns - in_calls, explained_by(file.bytes));
}

bool Savings::evaluates(std::uint32_t process, const Saving& saving) {
  const ProcessUse& use = use_of(process);
  auto between = [&](const std::vector<std::int64_t>& times) {
    auto from = std::lower_bound(times.begin(), times.end(), saving.begin_ns);
    return static_cast<std::uint64_t>(std::lower_bound(from, times.end(), saving.end_ns) - from);
  };
  return between(use.launches) > between(use.copies) + kFewLaunches;
}

std::uint64_t Savings::bytes_anew(std::uint32_t process, std::int64_t from_ns, std::int64_t to_ns) const {
  std::uint64_t bytes = 0;
  if (auto files = of_process_.find(process); files != of_process_.end())
    for (std::uint32_t file : files->second)
      if (is_anew(written_[file]) && written_[file].begin_ns >= from_ns && written_[file].begin_ns <= to_ns)
        bytes += written_[file].bytes;
  return bytes;
}

std::uint64_t Savings::bytes_of(const Saving& saving) const {
  std::uint64_t bytes = 0;
  for (std::uint32_t file : saving.files) bytes += written_[file].bytes;
  return bytes;
}

void Savings::note_use(std::uint32_t process, const trace::Record& record, ProcessUse& use) const {
  if (trace::find_call(record.call)->payload != trace::PayloadKind::kFileIo) return;
  auto io = trace::payload_of<payload::FileIo>(record);
  std::int64_t end = job_.end_ns(process, record);
  bool inside = io.count <= 1 || io.bytes / io.count >= kLargeCall;
  use.uses[io.file].push_back({job_.begin_ns(process, record), end, inside});
  if (trace::operation_of(record.call) == Operation::kClose) use.closed[io.file] = end;
}

const Savings::ProcessUse& Savings::use_of(std::uint32_t process) {
  auto [known, fresh] = uses_.try_emplace(process);
  if (!fresh) return known->second;
  ProcessUse& use = known->second;
  const trace::TraceFile& file = job_.processes[process].file;
  model::for_each_in_time(
      file,
      {Operation::kWrite, Operation::kSync, Operation::kClose, Operation::kRename, Operation::kLaunch,
       Operation::kGraphLaunch, Operation::kCopy},
      [&](model::EventPlace, const trace::Record& record) {
        std::int64_t end = job_.end_ns(process, record);
        switch (trace::operation_of(record.call)) {
          case Operation::kRename:
            use.renamed[std::string(file.string(trace::payload_of<payload::FileName>(record).target))] = end;
            return;
          case Operation::kCopy:
            use.copies.insert(use.copies.end(), trace::payload_of<payload::Copy>(record).count, end);
            return;
          case Operation::kLaunch:
          case Operation::kGraphLaunch:
            use.launches.insert(use.launches.end(),
                                model::folded_calls(record, *trace::find_call(record.call)), end);
            return;
          default:
            note_use(process, record, use);
        }
      });
  return use;
}

}  // namespace ddpscope::patterns
