// How a communicator comes to be: by a unique id, or out of a parent.
#include <algorithm>
#include <cstring>
#include <functional>
#include <set>
#include <unordered_map>

#include "standin/nccl/boundary.h"
#include "standin/nccl/communicator.h"
#include "standin/nccl/failure.h"

namespace ddpscope::standin::nccl {

std::vector<int> Communicator::all_ranks() const {
  std::vector<int> ranks(static_cast<std::size_t>(size_));
  for (int rank = 0; rank < size_; ++rank) ranks[static_cast<std::size_t>(rank)] = rank;
  return ranks;
}

namespace {

/// The nonce was drawn for this communicator, and all ranks know it.
std::uint64_t hash_of(const Nonce& nonce) {
  std::uint64_t hash = 0;
  std::memcpy(&hash, nonce.data(), sizeof hash);
  return hash;
}

int hosts_of(const Seat& seat) {
  std::set<std::uint64_t> hosts;
  for (const Member& member : seat.members) hosts.insert(member.host);
  return static_cast<int>(hosts.size());
}

}  // namespace

void Communicator::take_seat(const Seat& seat) {
  links_ = connect_members(seat, leave_);
  answers_.resize(seat.members.size());
  point_to_point_.emplace(seat.members.size());
  one_sided_ = std::make_shared<OneSided>(std::move(links_[kOneSided]), seat.rank);
  address_ = seat.members[static_cast<std::size_t>(seat.rank)].address;
  rank_ = seat.rank;
  size_ = static_cast<int>(seat.members.size());
  // A barrier: a rank that failed on its way here is noticed now, not in the first operation.
  all_gather(links_[kControl], all_ranks(), rank_, Signature{.kind = Kind::kBarrier}, std::int32_t{0},
             leave_);
  hash_ = hash_of(seat.members[0].nonce);
  profiler_ = profiler::Session::begin(hash_, name_, hosts_of(seat), size_, rank_);
}

void Communicator::init(const ncclUniqueId& id, int rank, int size) {
  std::lock_guard control(control_mutex_);
  const Seat seat = join(id, rank, size, describe_self(device_), leave_);
  refuse_shared_devices(seat);
  take_seat(seat);
}

/// Tells all `participants` of the parent about this rank and returns a seat among those of its color,
/// ordered by key and then by parent rank. Nobody serves anybody here: a rank that leaves afterwards is not
/// missed.
Seat Communicator::seat_among(Communicator& parent, std::span<const int> participants, Signature call,
                              Member self) {
  Seat seat{};
  self.address = parent.address_;
  seat.listener = listen_at(self.address);
  std::unique_lock control(parent.control_mutex_);
  const auto all = all_gather(parent.links_[kControl], participants, parent.rank_, call, self, parent.leave_);
  control.unlock();
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].color == self.color) chosen.push_back(i);
  }
  std::ranges::stable_sort(chosen, {}, [&](std::size_t i) { return all[i].key; });
  for (const std::size_t i : chosen) {
    if (participants[i] == parent.rank_) seat.rank = static_cast<int>(seat.members.size());
    seat.members.push_back(all[i]);
  }
  return seat;
}

void Communicator::split(Communicator& parent, int color, int key) {
  std::lock_guard control(control_mutex_);
  Member self = describe_self(device_);
  self.color = color;
  self.key = key;
  const Seat seat = seat_among(parent, parent.all_ranks(), Signature{.kind = Kind::kSplit}, self);
  if (color != NCCL_SPLIT_NOCOLOR) take_seat(seat);
}

void Communicator::shrink(Communicator& parent, std::span<const int> excluded) {
  std::lock_guard control(control_mutex_);
  std::vector<int> kept = parent.all_ranks();
  std::erase_if(kept, [&](int rank) { return std::ranges::find(excluded, rank) != excluded.end(); });
  take_seat(seat_among(parent, kept, Signature{.kind = Kind::kShrink}, describe_self(device_)));
}

namespace {

bool is_made(const ncclUniqueId& id) { return std::ranges::any_of(id.internal, std::identity()); }

}  // namespace

ncclUniqueId Communicator::make_id_to_grow() {
  std::lock_guard control(control_mutex_);
  if (is_made(id_to_grow_)) throw Failure(ncclInvalidUsage, "the unique id before is not used yet");
  return id_to_grow_ = make_unique_id();
}

// The ranks of the parent keep their numbers and meet those that join where the id leads.
void Communicator::grow(Communicator& parent, int size) {
  std::unique_lock control(parent.control_mutex_);
  const auto ids = all_gather(parent.links_[kControl], parent.all_ranks(), parent.rank_,
                              Signature{.kind = Kind::kGrow, .count = static_cast<std::uint64_t>(size)},
                              std::exchange(parent.id_to_grow_, {}), parent.leave_);
  control.unlock();
  const auto made = std::ranges::find_if(ids, is_made);
  if (made == ids.end()) throw Failure(ncclInvalidUsage, "no rank has called ncclCommGetUniqueId");
  init(*made, parent.rank_, size);
}

Window& Communicator::register_window(void* buffer, std::size_t size, bool symmetric) {
  one_sided().start();
  std::lock_guard control(control_mutex_);
  auto sizes = all_gather(links_[kControl], all_ranks(), rank_, Signature{.kind = Kind::kWindow},
                          std::uint64_t{size}, leave_);
  return one_sided_->add_window(static_cast<std::byte*>(buffer), std::move(sizes), symmetric);
}

OneSided& Communicator::one_sided() {
  if (!one_sided_) throw Failure(ncclInvalidArgument, "the communicator is not initialized");
  return *one_sided_;
}

void Communicator::connect_later(std::function<void(Communicator&)> connect) {
  async_error_ = ncclInProgress;
  start_thread([self = shared_from_this(), connect = std::move(connect)] {
    ncclResult_t result = ncclSuccess;
    try {
      connect(*self);
    } catch (...) {
      result = result_of_current_exception("creation of a communicator");
    }
    self->async_error_ = result;
  });
}

namespace {

// Never destroyed: a stream may still run while the process exits.
struct Handles {
  std::mutex mutex;
  std::unordered_map<ncclComm_t, std::shared_ptr<Communicator>> communicators;
};
Handles& handles() {
  static auto* const all = new Handles;
  return *all;
}

}  // namespace

ncclComm_t add_handle(std::shared_ptr<Communicator> communicator) {
  const auto handle = reinterpret_cast<ncclComm_t>(communicator.get());
  std::lock_guard lock(handles().mutex);
  handles().communicators.emplace(handle, std::move(communicator));
  return handle;
}

std::shared_ptr<Communicator> find_handle(ncclComm_t handle) {
  std::lock_guard lock(handles().mutex);
  const auto found = handles().communicators.find(handle);
  if (found == handles().communicators.end())
    throw Failure(ncclInvalidArgument, "not a communicator, or destroyed");
  return found->second;
}

std::shared_ptr<Communicator> find_connected(ncclComm_t handle) {
  auto communicator = find_handle(handle);
  if (communicator->async_error() == ncclInProgress)
    throw Failure(ncclInvalidArgument,
                  "Attempt to use communicator before the previous operation returned ncclSuccess");
  return communicator;
}

std::shared_ptr<Communicator> remove_handle(ncclComm_t handle) {
  std::lock_guard lock(handles().mutex);
  auto node = handles().communicators.extract(handle);
  return node ? std::move(node.mapped()) : nullptr;
}

}  // namespace ddpscope::standin::nccl
