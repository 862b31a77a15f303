// Rounds and messages between two writings.
#include "collector/detectors/write_order.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

namespace ddpscope::detectors {
namespace {

using files::WrittenFile;
using matching::Member;

const Member* member_of_rank(const matching::Communicator& communicator, std::int32_t rank) {
  for (const Member& member : communicator.members)
    if (member.rank == rank) return &member;
  return nullptr;
}

bool is_tcp(const trace::TraceFile& file, const trace::payload::Connection& connection) {
  for (std::string_view address : {file.string(connection.local), file.string(connection.peer)})
    if (!address.empty() && !address.starts_with("unix:")) return true;
  return false;
}

}  // namespace

WriteOrders::WriteOrders(const Facts& facts) : facts_(facts) {
  for (const patterns::DataParallelGroup& group : facts.data_parallel)
    for (const auto& [rank, reductions] : group.of_rank) {
      auto& times = reductions_ns_[rank];
      times.insert(times.end(), reductions.times_ns.begin(), reductions.times_ns.end());
    }
  for (auto& [rank, times] : reductions_ns_) std::sort(times.begin(), times.end());
}

bool WriteOrders::trained_between(std::int64_t end_ns, const WrittenFile& second) const {
  auto times = reductions_ns_.find(second.rank);
  if (times == reductions_ns_.end()) return false;
  auto next = std::lower_bound(times->second.begin(), times->second.end(), end_ns);
  return next != times->second.end() && *next < second.begin_ns;
}

bool WriteOrders::held_together(const WrittenFile& first, const WrittenFile& second) const {
  return std::max(first.open_ns, second.open_ns) + facts_.job.clock_error_ns <
         std::min(first.last_write_ns, second.last_write_ns);
}

// A round that the first rank issued after its writing and that the second rank's host knew to be complete
// before its own.
bool WriteOrders::met_between(const WrittenFile& first, const WrittenFile& second) const {
  const auto& rounds = facts_.rounds.all();  // by end
  auto ends_before = [](const patterns::Round& round, std::int64_t ns) { return round.end_ns < ns; };
  auto round = std::lower_bound(rounds.begin(), rounds.end(), first.end_ns, ends_before);
  for (; round != rounds.end() && round->start_ns <= second.begin_ns; ++round) {
    const auto& communicator = facts_.collectives.communicators[round->communicator];
    const Member* a = member_of_rank(communicator, first.rank);
    const Member* b = member_of_rank(communicator, second.rank);
    if (a && b && facts_.collectives.call_at(*a, round->ordinal).begin_ns >= first.end_ns &&
        facts_.device_order.complete_ns(b->calls[round->ordinal]) <= second.begin_ns)
      return true;
  }
  return false;
}

const std::vector<WriteOrders::Span>& WriteOrders::messages_to(std::int32_t rank) const {
  auto [known, fresh] = messages_.try_emplace(rank);
  std::vector<Span>& spans = known->second;
  std::int32_t process = facts_.job.process_of_rank(rank);
  if (!fresh || process < 0) return spans;
  auto index = static_cast<std::uint32_t>(process);
  const trace::TraceFile& file = facts_.job.processes[index].file;
  std::unordered_set<std::uint64_t> sockets;
  model::for_each_in_time(file, [&](model::EventPlace place, const trace::Record& record) {
    const trace::CallInfo* info = trace::find_call(record.call);
    if (info && info->payload == trace::PayloadKind::kConnection) {
      auto connection = trace::payload_of<trace::payload::Connection>(record);
      if (is_tcp(file, connection)) sockets.insert(connection.inode);
    }
    if (!info || info->operation != trace::Operation::kStreamReceive) return;
    auto io = trace::payload_of<trace::payload::StreamIo>(record);
    if (io.bytes && sockets.contains(io.inode))
      spans.push_back({facts_.job.begin_ns({index, place}), facts_.job.end_ns({index, place})});
  });
  return spans;
}

WriteOrder WriteOrders::between(const WrittenFile& first, const WrittenFile& second) const {
  if (second.begin_ns < first.end_ns + facts_.job.clock_error_ns) return WriteOrder::kUnordered;
  if (met_between(first, second)) return WriteOrder::kOrdered;
  const std::vector<Span>& messages = messages_to(second.rank);
  bool message = std::any_of(messages.begin(), messages.end(), [&](const Span& span) {
    return span.end_ns > first.end_ns && span.begin_ns < second.begin_ns;
  });
  return message ? WriteOrder::kMaybe : WriteOrder::kUnordered;
}

}  // namespace ddpscope::detectors
