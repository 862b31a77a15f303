#include "collector/patterns/collective_summary.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <tuple>

#include "collector/model/device_work.h"
#include "collector/model/order_statistics.h"
#include "collector/ordering/messages.h"
#include "collector/patterns/link_cost.h"

namespace ddpscope::patterns {
namespace {

using matching::Communicator;
using matching::Member;
using matching::Signature;
using trace::Operation;

constexpr std::uint32_t kSmallest = 6;  // bits: what is smaller is of one class

struct Duration {
  std::int64_t transfer_ns, wait_ns;
};

class Summary {
 public:
  Summary(const model::Job& job, const matching::Collectives& collectives, const CollectiveTimes& times)
      : job_(job), collectives_(collectives), times_(times) {
    for (std::uint32_t process = 0; process < job.processes.size(); ++process)
      device_error_ns_.push_back(times.on_hosts() ? 0 : model::device_clock_error_ns(job, process));
  }

  std::vector<CollectiveClass> run() {
    for (std::uint32_t c = 0; c < collectives_.communicators.size(); ++c) {
      add_collectives(c);
      add_messages(collectives_.communicators[c]);
    }
    return rows();
  }

 private:
  struct Samples {
    std::vector<std::int64_t> transfers, waits;
    std::vector<double> rates;
  };

  void add_collectives(std::uint32_t index);
  void add_messages(const Communicator& communicator);
  std::optional<Duration> by_lengths(std::uint32_t index, std::size_t ordinal) const;
  std::optional<Duration> by_moments(const Communicator& communicator, std::size_t ordinal) const;
  std::optional<Duration> of_message(std::uint32_t send, std::uint32_t receive) const;
  std::optional<Duration> known(std::int64_t transfer_ns, std::int64_t wait_ns, std::int64_t error_ns) const;
  // What the moments of two processes' devices may be apart from the truth.
  std::int64_t error_between(std::uint32_t a, std::uint32_t b) const {
    return job_.clock_error_between(a, b) + device_error_ns_[a] + device_error_ns_[b];
  }
  void add(Operation operation, std::int32_t ranks, const Signature& signature, Duration duration);
  std::vector<CollectiveClass> rows();

  const model::Job& job_;
  const matching::Collectives& collectives_;
  const CollectiveTimes& times_;
  std::vector<std::int64_t> device_error_ns_;  // by process
  std::map<std::tuple<Operation, std::int32_t, std::uint32_t>, Samples> classes_;
};

void Summary::add_collectives(std::uint32_t index) {
  const Communicator& communicator = collectives_.communicators[index];
  if (communicator.members.size() < 2 || communicator.without_trace() > 0) return;
  const Member& first = communicator.members[0];
  for (std::size_t k = 0; k < first.calls.size(); ++k) {
    if (times_.shared(first.calls[k])) continue;
    const Signature& signature = collectives_.signature_at(first, k);
    auto duration =
        needs_all_members(signature.operation) ? by_lengths(index, k) : by_moments(communicator, k);
    if (duration) add(signature.operation, communicator.size, signature, *duration);
  }
}

std::optional<Duration> Summary::by_lengths(std::uint32_t index, std::size_t ordinal) const {
  auto split = times_.split(index, ordinal);
  if (!split) return std::nullopt;
  return Duration{split->transfer_ns, split->longest_ns - split->transfer_ns};
}

std::optional<Duration> Summary::by_moments(const Communicator& communicator, std::size_t ordinal) const {
  const Member& first = communicator.members[0];
  std::vector<const DeviceTime*> times;
  std::int64_t came_ns = 0, error_ns = 0;
  for (const Member& member : communicator.members) {
    if (member.incomplete || ordinal >= member.calls.size()) return std::nullopt;
    times.push_back(times_.of(member.calls[ordinal]));
    if (!times.back() ||
        collectives_.signature_at(member, ordinal) != collectives_.signature_at(first, ordinal))
      return std::nullopt;
    came_ns = std::max(came_ns, times.back()->begin_ns);
    error_ns = std::max(error_ns, error_between(first.process, member.process));
  }
  const Signature& signature = collectives_.signature_at(first, ordinal);
  auto is_root = [&](const Member& member) { return member.rank_in_communicator == signature.root; };
  auto root = std::find_if(communicator.members.begin(), communicator.members.end(), is_root);
  if (root == communicator.members.end()) return std::nullopt;
  std::int64_t root_came_ns = times[static_cast<std::size_t>(root - communicator.members.begin())]->begin_ns;
  bool root_needs_all = matching::needs(signature, signature.root, -1);
  std::int64_t done_ns = came_ns, wait_ns = 0;
  for (std::size_t m = 0; m < times.size(); ++m) {
    if (is_root(communicator.members[m]) != root_needs_all) continue;  // needs nobody
    done_ns = std::max(done_ns, times[m]->end_ns);
    wait_ns = std::max(wait_ns, (root_needs_all ? came_ns : root_came_ns) - times[m]->begin_ns);
  }
  return known(done_ns - came_ns, wait_ns, error_ns);
}

void Summary::add_messages(const Communicator& communicator) {
  for (auto [send, receive] : ordering::pair_messages(collectives_, communicator))
    if (auto duration = of_message(send, receive))
      add(Operation::kSend, 2, collectives_.calls.signature(send), *duration);
}

std::optional<Duration> Summary::of_message(std::uint32_t send, std::uint32_t receive) const {
  const DeviceTime *sent = times_.of(send), *received = times_.of(receive);
  if (!sent || !received || times_.shared(send) || times_.shared(receive)) return std::nullopt;
  const Member& sender = collectives_.member_of(collectives_.calls.form(send));
  const Member& receiver = collectives_.member_of(collectives_.calls.form(receive));
  if (sender.incomplete || receiver.incomplete) return std::nullopt;
  std::int64_t came_ns = std::max(sent->begin_ns, received->begin_ns);
  return known(received->end_ns - came_ns, came_ns - received->begin_ns,
               error_between(sender.process, receiver.process));
}

std::optional<Duration> Summary::known(std::int64_t transfer_ns, std::int64_t wait_ns,
                                       std::int64_t error_ns) const {
  if (error_ns >= transfer_ns / 2 || transfer_ns <= 0) return std::nullopt;
  return Duration{transfer_ns, wait_ns > error_ns ? wait_ns : 0};
}

void Summary::add(Operation operation, std::int32_t ranks, const Signature& signature, Duration duration) {
  auto width = static_cast<std::uint32_t>(std::bit_width(matching::bytes_of(signature) | 1));
  Samples& samples = classes_[{operation, ranks, std::max(width - 1, kSmallest)}];
  samples.transfers.push_back(duration.transfer_ns);
  samples.waits.push_back(duration.wait_ns);
  samples.rates.push_back(moved_bytes(signature, ranks) * 1e9 /
                          static_cast<double>(std::max<std::int64_t>(duration.transfer_ns, 1)));
}

std::vector<CollectiveClass> Summary::rows() {
  std::vector<CollectiveClass> rows;
  for (auto& [kind, samples] : classes_) {
    const auto& [operation, ranks, size] = kind;
    rows.push_back({operation, ranks, size, samples.transfers.size(), model::median(samples.transfers),
                    model::median(samples.waits), model::median(samples.rates)});
  }
  return rows;
}

}  // namespace

std::vector<CollectiveClass> summarise_collective_times(const model::Job& job,
                                                        const matching::Collectives& collectives,
                                                        const CollectiveTimes& times) {
  if (!times.any()) return {};
  return Summary(job, collectives, times).run();
}

}  // namespace ddpscope::patterns
