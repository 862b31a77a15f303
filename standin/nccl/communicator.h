// A communicator on one rank: its place among its peers, the order of its operations, and how they end.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "standin/nccl/collectives.h"
#include "standin/nccl/cuda.h"
#include "standin/nccl/one_sided.h"
#include "standin/nccl/point_to_point.h"
#include "standin/nccl/staging.h"

namespace ddpscope::standin::nccl {

class Communicator;

/// What one group (or one call outside of a group) does on one communicator: enqueued and run as a whole.
struct Plan {
  std::shared_ptr<Communicator> communicator;
  std::vector<Collective> collectives;
  std::vector<Message> messages;
  std::vector<OneSidedCall> one_sided;
  std::vector<cudaStream_t> streams;  ///< each once, in the order of first use
  std::uint64_t ticket = 0;           ///< place in the communicator's order; captured: who comes before
  std::shared_ptr<profiler::PlanEvents> events;  ///< null where no profiler plugin wants any
};

class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  /// Not yet connected; only abort is possible.
  explicit Communicator(int device, std::string name = "") : device_(device), name_(std::move(name)) {}
  Communicator(const Communicator&) = delete;
  ~Communicator();

  /// Connect to the peers and wait for all of them. Throw Failure, Released.
  void init(const ncclUniqueId& id, int rank, int size);
  /// Collective over `parent`: ranks of one color become a communicator, ordered by key and then by parent
  /// rank. With NCCL_SPLIT_NOCOLOR this object stays unconnected.
  void split(Communicator& parent, int color, int key);
  /// Collective over the ranks of `parent` that are not excluded.
  void shrink(Communicator& parent, std::span<const int> excluded);
  /// Collective over `parent`, one rank of which has made the id; those that join it call init.
  void grow(Communicator& parent, int size);
  /// For one later grow(); this rank tells the others of the communicator.
  ncclUniqueId make_id_to_grow();

  /// Collective: `buffer` is this rank's part. Throws Failure, Released.
  Window& register_window(void* buffer, std::size_t size, bool symmetric);
  OneSided& one_sided();  ///< throws Failure (ncclInvalidArgument) where the communicator is not connected

  /// Puts the plan on its stream. Plans of a communicator run one at a time, in the order of this call, on
  /// whatever streams they are; those that were captured into a graph in the order of the graph's launches.
  /// Throws Failure; then nothing was enqueued.
  void enqueue(std::unique_ptr<Plan> plan);

  void drain();  ///< waits until all that was enqueued has run; a hanging operation hangs it, until release
  void finalize();  ///< drain, and refuse further operations
  void suspend();   ///< operations are refused, until resume. Throws Failure if they are already
  void resume();
  bool suspended();
  void release();  ///< ends running and queued operations without a result, refuses further ones
  void abort();    ///< release, and leave the peers

  /// How long the link model lets `plan` last.
  std::chrono::nanoseconds duration(const Plan& plan) const;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int device() const { return device_; }
  const std::string& name() const { return name_; }  ///< as its configuration has it; "" without
  std::uint64_t hash() const { return hash_; }       ///< the same on all ranks, another for each communicator
  /// ncclInProgress while it is created by a thread of its own.
  ncclResult_t async_error() const { return async_error_.load(); }
  /// Runs `connect` in a thread of its own; how it ends is the state that async_error() tells from then on.
  void connect_later(std::function<void(Communicator&)> connect);

  /// What a profiler plugin has of this communicator; null without one.
  const std::shared_ptr<profiler::Session>& profiler() const { return profiler_; }
  void end_profiling();  ///< nothing runs any more

  ncclRedOp_t add_pre_multiplied_sum(const Reduction::Factor& factor);
  void remove_reduction(ncclRedOp_t op);
  /// What `op` does now; it may be removed afterwards. Throws Failure (ncclInvalidArgument).
  Reduction reduction(ncclRedOp_t op, ncclDataType_t datatype);

 private:
  void take_seat(const Seat& seat);
  Seat seat_among(Communicator& parent, std::span<const int> participants, Signature call, Member self);
  std::vector<int> all_ranks() const;
  void refuse_if_unusable();
  void launch(std::unique_ptr<Plan> plan, cudaStream_t stream);
  static void run_from_stream(void* plan);
  bool wait_for_turn(std::uint64_t ticket);
  void run(const Plan& plan);
  void capture(std::unique_ptr<Plan> plan, const StreamCapture& into);
  void wait_for_others(const StreamCapture& into, cudaStream_t stream);
  static void run_from_graph(void* plan);
  bool wait_for_gap(std::uint64_t earlier);
  void execute_or_hang(const Plan& plan);
  void execute(const Plan& plan);
  void sleep_until(Clock::time_point end);
  void hang();

  const int device_;
  const std::string name_;
  int rank_ = -1;
  int size_ = 0;
  std::uint64_t hash_ = 0;
  std::shared_ptr<profiler::Session> profiler_;
  Address address_;  ///< at which this rank can be reached; the port means nothing any more
  std::array<Links, kChannels> links_;
  std::vector<Answers> answers_;  ///< of the collective channel, by rank
  std::optional<PointToPoint> point_to_point_;
  std::shared_ptr<OneSided> one_sided_;  ///< its thread may outlive the communicator
  Release release_;                      ///< ends operations
  Release leave_;                        ///< ends control calls, which go on after a revoke
  std::atomic<ncclResult_t> async_error_{ncclSuccess};

  std::mutex issue_mutex_;         ///< the streams get the plans in the order of their tickets
  StagedOrder staged_order_;       ///< guarded by issue_mutex_
  cudaEvent_t came_by_ = nullptr;  ///< once plans are captured: behind the latest plan, in a graph or not
  std::map<unsigned long long, cudaGraphNode_t> captured_;  ///< by capture: the latest plan in it
  std::mutex control_mutex_;  ///< one call at a time that uses the control channel, or makes it
  std::mutex mutex_;          ///< of what follows
  std::condition_variable changed_;
  std::uint64_t issued_ = 0;
  std::uint64_t ended_ = 0;
  bool running_ = false;
  bool finalized_ = false;
  bool suspended_ = false;
  ncclUniqueId id_to_grow_{};  ///< guarded by control_mutex_; all 0 without
  std::map<int, Reduction::Factor> factors_;
  int next_reduction_ = ncclNumOps;
};

/// Handles of the API. find_handle throws Failure (ncclInvalidArgument) for what is none, or was destroyed,
/// instead of following it; remove_handle returns nothing then.
ncclComm_t add_handle(std::shared_ptr<Communicator> communicator);
std::shared_ptr<Communicator> find_handle(ncclComm_t handle);
/// Refuses, too, what is still being created, or could not be.
std::shared_ptr<Communicator> find_connected(ncclComm_t handle);
std::shared_ptr<Communicator> remove_handle(ncclComm_t handle);

}  // namespace ddpscope::standin::nccl
