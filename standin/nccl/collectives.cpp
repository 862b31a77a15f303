// Results are folded in rank order by one owner per element, so that they are bit-equal on all ranks.
#include "standin/nccl/collectives.h"

#include <cstring>
#include <memory>

#include "standin/nccl/failure.h"

namespace ddpscope::standin::nccl {
namespace {

/// Up to here an AllReduce goes through rank 0: two hops and 2 (n-1) messages are faster than 2 n (n-1)
/// messages.
constexpr std::size_t kHubBytes = 64 << 10;

class Run {
 public:
  Run(const Collective& collective, const Links& links, std::span<Answers> answers, int rank,
      const Release& release)
      : op_(collective),
        links_(links),
        answers_(answers),
        rank_(rank),
        size_(static_cast<int>(links.size())),
        release_(release),
        element_(element_size(op_.datatype())),
        bytes_(op_.bytes()),
        send_(static_cast<const std::byte*>(op_.send)),
        recv_(static_cast<std::byte*>(op_.recv)) {
    if (op_.reduction.factor) multiply_input();
  }

  Clock::time_point all_reduce() {
    if (bytes_ > kHubBytes) return all_reduce_directly();
    if (rank_ != 0) {
      const Leg hub{.peer = 0, .out = {send_, bytes_}, .in = {recv_, bytes_}};
      return round({&hub, 1});
    }
    make_slices(bytes_);
    const auto joined =
        round(legs([&](int peer) { return Leg{.peer = peer, .announce = false, .in = slice(peer)}; }));
    fold_into(recv_, send_, op_.signature.count);
    round(legs([&](int peer) { return Leg{.peer = peer, .expect = false, .out = {recv_, bytes_}}; }));
    return joined;
  }

  Clock::time_point reduce() {
    const int root = op_.signature.root;
    if (rank_ != root) {
      const Leg leg{.peer = root, .out = {send_, bytes_}};
      return round({&leg, 1});
    }
    make_slices(bytes_);
    const auto joined = round(legs([&](int peer) { return Leg{.peer = peer, .in = slice(peer)}; }));
    fold_into(recv_, send_, op_.signature.count);
    return joined;
  }

  Clock::time_point broadcast() {
    const int root = op_.signature.root;
    const bool fits = bytes_ <= Answers::kBytes;
    if (rank_ != root) {
      const Leg leg{.peer = root, .in = {recv_, bytes_}, .peer_ran_ahead = fits};
      return round({&leg, 1});
    }
    const auto joined = round(legs([&](int peer) {
      return Leg{.peer = peer, .out = {send_, bytes_}, .runs_ahead = fits};
    }));
    copy(recv_, send_, bytes_);
    return joined;
  }

  Clock::time_point all_gather() {
    copy(recv_ + offset(rank_), send_, bytes_);
    return round(legs([&](int peer) {
      return Leg{.peer = peer, .out = {send_, bytes_}, .in = {recv_ + offset(peer), bytes_}};
    }));
  }

  Clock::time_point reduce_scatter() {
    make_slices(bytes_);
    const auto joined = round(legs([&](int peer) {
      return Leg{.peer = peer, .out = {send_ + offset(peer), bytes_}, .in = slice(peer)};
    }));
    fold_into(recv_, send_ + offset(rank_), op_.signature.count);
    return joined;
  }

 private:
  /// Rank r owns the r-th part: it gets everyone's share of it, folds, and sends the result to all.
  Clock::time_point all_reduce_directly() {
    const auto begin = [&](int rank) {
      return op_.signature.count * static_cast<std::size_t>(rank) / static_cast<std::size_t>(size_) *
             element_;
    };
    const auto part_bytes = [&](int rank) { return begin(rank + 1) - begin(rank); };
    make_slices(part_bytes(rank_));
    const auto joined = round(legs([&](int peer) {
      return Leg{.peer = peer, .out = {send_ + begin(peer), part_bytes(peer)}, .in = slice(peer)};
    }));
    std::byte* const own = recv_ + begin(rank_);
    fold_into(own, send_ + begin(rank_), part_bytes(rank_) / element_);
    round(legs([&](int peer) {
      return Leg{
          .peer = peer, .out = {own, part_bytes(rank_)}, .in = {recv_ + begin(peer), part_bytes(peer)}};
    }));
    return joined;
  }

  template <typename Make>
  std::vector<Leg> legs(Make make) const {
    std::vector<Leg> all;
    all.reserve(links_.size());
    for (int peer = 0; peer < size_; ++peer) {
      if (peer != rank_) all.push_back(make(peer));
    }
    return all;
  }

  Clock::time_point round(std::span<const Leg> legs) const {
    return exchange(links_, answers_, op_.signature, legs, release_);
  }

  void multiply_input() {
    const auto ranks = op_.signature.kind == Kind::kReduceScatter ? static_cast<std::size_t>(size_) : 1;
    multiplied_ = std::make_unique_for_overwrite<std::byte[]>(ranks * bytes_);
    multiply(op_.datatype(), op_.reduction.factor->data(), send_, multiplied_.get(),
             ranks * op_.signature.count);
    send_ = multiplied_.get();
  }

  /// `result` = input of rank 0, 1, ... folded in this order: `own` for this rank, the slices for the others.
  void fold_into(std::byte* result, const std::byte* own, std::size_t count) {
    std::byte* const start = rank_ == 0 ? result : slice(0).data();
    if (rank_ == 0) copy(result, own, count * element_);
    for (int rank = 1; rank < size_; ++rank) {
      fold(op_.datatype(), op_.reduction.fold, start, rank == rank_ ? own : slice(rank).data(), count);
    }
    if (op_.reduction.divisor != 1) divide(op_.datatype(), op_.reduction.divisor, start, count);
    copy(result, start, count * element_);
  }

  static void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (to != from) std::memcpy(to, from, bytes);
  }

  void make_slices(std::size_t bytes) {
    slice_bytes_ = bytes;
    slices_ = std::make_unique_for_overwrite<std::byte[]>(bytes * static_cast<std::size_t>(size_));
  }
  std::span<std::byte> slice(int rank) const {
    return {slices_.get() + slice_bytes_ * static_cast<std::size_t>(rank), slice_bytes_};
  }
  std::size_t offset(int rank) const { return bytes_ * static_cast<std::size_t>(rank); }

  const Collective& op_;
  const Links& links_;
  const std::span<Answers> answers_;
  const int rank_;
  const int size_;
  const Release& release_;
  const std::size_t element_;
  const std::size_t bytes_;
  const std::byte* send_;
  std::byte* recv_;
  std::unique_ptr<std::byte[]> multiplied_;
  std::unique_ptr<std::byte[]> slices_;  ///< what each rank sent, by rank
  std::size_t slice_bytes_ = 0;
};

}  // namespace

Clock::time_point run(const Collective& collective, const Links& links, std::span<Answers> answers, int rank,
                      const Release& release) {
  Run run(collective, links, answers, rank, release);
  switch (collective.signature.kind) {
    case Kind::kAllReduce:
      return run.all_reduce();
    case Kind::kAllGather:
      return run.all_gather();
    case Kind::kReduceScatter:
      return run.reduce_scatter();
    case Kind::kBroadcast:
      return run.broadcast();
    case Kind::kReduce:
      return run.reduce();
    default:
      throw Failure(ncclInternalError, "not a collective");
  }
}

std::size_t moved_bytes(const Collective& collective, int size) {
  if (size == 1) return 0;
  const auto ranks = static_cast<std::size_t>(size);
  switch (collective.signature.kind) {
    case Kind::kAllReduce:
      return 2 * collective.bytes() * (ranks - 1) / ranks;
    case Kind::kAllGather:
    case Kind::kReduceScatter:
      return collective.bytes() * (ranks - 1);
    default:
      return collective.bytes();
  }
}

}  // namespace ddpscope::standin::nccl
