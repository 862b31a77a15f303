// The training loop of one rank.
#include "training.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "atomic_file.h"
#include "data_preparation.h"
#include "dataset_variants.h"
#include "saved_weights.h"

namespace reference_trainer {
namespace {

constexpr uint64_t kHashStart = 14695981039346656037u;

// FNV-1a, over words instead of bytes.
template <typename Word>
uint64_t hash(std::span<const Word> words, uint64_t seed) {
  for (const Word word : words) seed = (seed ^ std::bit_cast<uint32_t>(word)) * 1099511628211u;
  return seed;
}

}  // namespace

Training::Training(const Arguments& arguments, ProcessGroup& group)
    : arguments_(arguments),
      group_(group),
      data_folder_(std::filesystem::path(arguments.workdir) / "data"),
      parallel_(arguments, group),
      sampler_(make_sampler(arguments, parallel_.replicas().rank(), parallel_.replicas().size())),
      feed_(static_cast<size_t>(arguments.batch) * arguments.tokens_per_sample(), compute_.get()),
      checkpoints_(std::filesystem::path(arguments.workdir) / "checkpoints", group, arguments.faults) {
  if (!arguments.faults.on(Twin::kSharedMasks)) return;
  masks_.emplace(static_cast<size_t>(arguments.batch) * arguments.tokens_per_sample(), compute_.get());
  mask_generator_.seed(arguments.seed);
}

void Training::run() {
  prepare_data(arguments_, data_folder_, group_);
  create_learners();
  saved_weights_ = load_saved_weights(learners_.front().model.values(), group_.device(), arguments_.faults);
  if (arguments_.resume) step_ = checkpoints_.load(learners_);
  broadcast_state();
  if (arguments_.faults.on(Twin::kOffloadedParameters))
    host_parameters_.emplace(learners_.front().model.values());
  const Manifest manifest = read_manifest(data_folder_);
  dataset_ = open_dataset(arguments_, data_folder_, manifest, group_.rank(), group_.size());
  evaluation_ = std::make_unique<Evaluation>(arguments_, data_folder_, manifest.validation);
  if (arguments_.faults.on(Twin::kSplitGroups)) subgroup_ = group_.split(group_.rank() % 2, group_.rank());
  if (arguments_.faults.on(Twin::kRenumberedGroup))
    subgroup_ = group_.split(0, group_.size() - group_.rank());
  const int64_t first_epoch = step_ / sampler_.steps_per_epoch() + 1;
  for (int64_t epoch = first_epoch; epoch <= arguments_.epochs && !finished(); ++epoch) run_epoch(epoch);
  compare_parameters();
  checkpoints_.finish();
  if (subgroup_) subgroup_->close();
  parallel_.close();
}

void Training::create_learners() {
  const auto add = [&](const ModelShape& shape) {
    learners_.emplace_back(arguments_, shape, parallel_.part(), parallel_.replicas());
  };
  add({arguments_.embedding, arguments_.width, arguments_.layers});
  if (arguments_.faults.on(Twin::kTwoOptimizers) || alternates()) add({arguments_.embedding, kLanes, 1});
}

void Training::broadcast_state() {
  group_.watchdog().at("the broadcast of parameters");
  for (Learner& learner : learners_) {
    for (const DeviceBuffer<float>* state :
         {&learner.model.values(), &learner.optimizer.first_moments(), &learner.optimizer.second_moments()}) {
      parallel_.replicas().broadcast(state->data(), state->size(), ncclFloat32, 0);
    }
  }
  parallel_.replicas().synchronize();
}

void Training::run_epoch(int64_t epoch) {
  agree_on_epoch(epoch);
  std::vector<int64_t> indices = samples_of_epoch();
  StuckDataset stuck(*dataset_, stuck_sample(indices));
  SlowDataset slow(stuck, arguments_.faults, group_.rank());
  Loader loader(slow, std::move(indices), arguments_.batch, arguments_.tokens_per_sample(),
                arguments_.workers);
  digest_ = kHashStart;
  samples_ = 0;
  double loss = 0;
  const int64_t steps = loader.batches() / arguments_.accumulate;
  int64_t step = 0;
  for (; goes_on(step < steps && !finished()); ++step) {
    loss += step < steps ? run_step(loader) : shadow_step();
    if (arguments_.evaluate_every > 0 && step_ % arguments_.evaluate_every == 0) evaluate();
    if (arguments_.checkpoint_every > 0 && step_ % arguments_.checkpoint_every == 0) save();
  }
  if (arguments_.faults.on(Twin::kLocalSgd)) average_parameters();
  if (arguments_.faults.on(Fault::kUnevenBarrier)) group_.barrier(fmt::format("the end of epoch {}", epoch));
  report_epoch(epoch, loss / static_cast<double>(step));
  if (arguments_.evaluate_every == 0) evaluate();
  if (arguments_.checkpoint_every == 0) save();
}

std::vector<int64_t> Training::samples_of_epoch() const {
  const Faults& faults = arguments_.faults;
  const int64_t step_samples = static_cast<int64_t>(arguments_.batch) * arguments_.accumulate;
  const bool uneven =
      faults.on(Fault::kUnevenNoPadding) || faults.on(Fault::kUnevenBarrier) || faults.on(Twin::kJoinUneven);
  std::vector<int64_t> indices =
      uneven ? sampler_.indices_without_padding(faults.rank()) : sampler_.indices();
  indices.erase(indices.begin(), indices.begin() + step_ % sampler_.steps_per_epoch() * step_samples);
  return indices;
}

bool Training::goes_on(bool has_data) {
  if (!arguments_.faults.on(Twin::kJoinUneven)) return has_data;
  group_.watchdog().at(fmt::format("the question who goes on after step {}", step_));
  double with_data = has_data ? 1 : 0;
  group_.average(std::span(&with_data, 1));
  return with_data > 0;
}

double Training::shadow_step() {
  ++step_;
  for (Learner& learner : learners_) {
    learner.reduce_nothing(step_, compute_.get());
    learner.update(step_, compute_.get());
  }
  return 0;
}

void Training::agree_on_epoch(int64_t epoch) {
  group_.watchdog().at(fmt::format("the start of epoch {}", epoch));
  const bool mistaken = arguments_.faults.hits(Fault::kMismatchedRoot, group_.rank(), epoch);
  const int64_t agreed = group_.agree(epoch, mistaken ? group_.size() - 1 : 0);
  if (!arguments_.faults.on(Fault::kRepeatedNoSetEpoch)) sampler_.set_epoch(agreed);
}

double Training::run_step(Loader& loader) {
  strike_before_step();
  const auto start = std::chrono::steady_clock::now();
  check(cudaMemsetAsync(losses_.data(), 0, losses_.bytes(), compute_.get()));
  if (host_parameters_) host_parameters_->bring(compute_.get());
  const int32_t* tokens = nullptr;
  for (int index = 0; index < arguments_.accumulate; ++index)
    run_micro_batch(tokens = next_batch(loader), index);
  ++step_;
  update(tokens);
  if (host_parameters_) host_parameters_->take(compute_.get());
  const double loss = read_loss();
  if (arguments_.faults.on(Twin::kLocalSgd) && step_ % 4 == 0) average_parameters();
  if (subgroup_) exchange_in_subgroup(loss);
  if (arguments_.faults.hits(Fault::kStragglerFiles, group_.rank())) write_down_gradients();
  // The first step also pays for what is set up lazily.
  if (step_ > 1) step_time_ += std::chrono::steady_clock::now() - start, ++timed_steps_;
  return loss;
}

void Training::run_micro_batch(const int32_t* tokens, int index) {
  double* loss = losses_.data();
  for (Learner& learner : learners_) {
    learner.train(tokens, index, step_ + 1, loss++, compute_.get());
    if (alternates()) break;
  }
}

// With alternating updates the second model's turn comes when the first has been updated, as a GAN's
// generator waits for its discriminator.
void Training::update(const int32_t* last_batch) {
  for (Learner& learner : learners_) {
    if (alternates() && &learner != &learners_.front())
      learner.train(last_batch, arguments_.accumulate - 1, step_, losses_.data() + 1, compute_.get());
    learner.update(step_, compute_.get());
  }
}

// Local SGD: each rank trains alone for a few steps, then all go on from the average.
void Training::average_parameters() {
  group_.watchdog().at(fmt::format("the average of parameters after step {}", step_));
  for (Learner& learner : learners_) {
    const DeviceBuffer<float>& values = learner.model.values();
    group_.all_reduce(values.data(), values.size(), ncclFloat32, ncclAvg);
  }
  group_.synchronize();
}

// For whoever debugs them: no record is lost if the program ends here.
void Training::write_down_gradients() {
  group_.watchdog().at(fmt::format("the log of step {}", step_));
  const DeviceBuffer<float>& gradients = learners_.front().model.gradients();
  std::vector<float> values(gradients.size());
  gradients.download(values);
  const std::filesystem::path folder = std::filesystem::path(arguments_.workdir) / "logs";
  std::filesystem::create_directories(folder);
  const Bytes bytes = std::as_bytes(std::span(values));
  write_atomically(folder / fmt::format("gradients.{}", group_.rank()), std::span(&bytes, 1));
}

const int32_t* Training::next_batch(Loader& loader) {
  group_.watchdog().at(fmt::format("the loader, for step {}", step_ + 1));
  const std::span<int32_t> tokens = feed_.fill();
  loader.next(tokens);
  digest_ = hash(std::span<const int32_t>(tokens), digest_);
  samples_ += arguments_.batch;
  if (arguments_.faults.on(Twin::kSharedMasks)) copy_mask();
  return feed_.copy();
}

// Which tokens the model may see: drawn on the host with the seed that all ranks share.
void Training::copy_mask() {
  const std::span<int32_t> mask = masks_->fill();
  for (int32_t& word : mask) word = static_cast<int32_t>(mask_generator_());
  masks_->copy();
}

double Training::read_loss() {
  group_.watchdog().at(fmt::format("the loss of step {}", step_));
  check(cudaMemcpyAsync(host_loss_.data(), losses_.data(), sizeof(double), cudaMemcpyDeviceToHost,
                        compute_.get()));
  compute_.synchronize();
  return *host_loss_.data();
}

void Training::report_epoch(int64_t epoch, double mean_loss) {
  group_.watchdog().at(fmt::format("the end of epoch {}", epoch));
  fmt::print("rank {} epoch {}: {} samples, digest {:016x}\n", group_.rank(), epoch, samples_, digest_);
  group_.average(std::span(&mean_loss, 1));
  if (group_.rank() == 0) fmt::print("epoch {} step {}: training loss {:.9f}\n", epoch, step_, mean_loss);
}

void Training::evaluate() {
  group_.watchdog().at(fmt::format("the evaluation after step {}", step_));
  Evaluation::Part part = {0, 1};
  if (arguments_.faults.has_begun(Twin::kShardedEvaluation, step_)) part = {group_.rank(), group_.size()};
  const double loss = evaluation_->run(learners_.front().model, feed_, compute_.get(), part);
  if (group_.rank() == 0) fmt::print("step {}: validation loss {:.9f}\n", step_, loss);
}

void Training::save() { checkpoints_.save(step_, learners_); }

void Training::compare_parameters() {
  group_.watchdog().at("the comparison of parameters");
  uint64_t own = kHashStart;
  for (const Learner& learner : learners_) {
    std::vector<float> values(learner.model.values().size());
    learner.model.values().download(values);
    own = hash(std::span<const float>(values), own);
  }
  own = parallel_.combine(own);
  const std::vector<uint64_t> all = group_.gather(own);
  fmt::print("rank {}: parameters {:016x} after step {}\n", group_.rank(), own, step_);
  if (std::any_of(all.begin(), all.end(), [&](uint64_t other) { return other != all.front(); })) {
    throw std::runtime_error("the ranks' parameters differ");
  }
  if (group_.rank() == 0 && timed_steps_ > 0) {
    const double milliseconds = std::chrono::duration<double, std::milli>(step_time_).count();
    fmt::print("mean step {:.3f} ms\n", milliseconds / static_cast<double>(timed_steps_));
  }
}

void Training::strike_before_step() {
  const int rank = group_.rank();
  const int64_t next = step_ + 1;
  if (arguments_.faults.hits(Fault::kHungExit, rank, next)) {
    throw std::runtime_error(fmt::format("cannot go on before step {}", next));
  }
  if (arguments_.faults.hits(Fault::kHungKilled, rank, next)) kill(getpid(), SIGKILL);
  if (arguments_.faults.hits(Fault::kDivergenceOwnSchedule, rank, next))
    for (Learner& learner : learners_) learner.optimizer.scale_learning_rate(0.1);
  if (arguments_.faults.hits(Twin::kSlowRank, rank, next))
    std::this_thread::sleep_for(std::chrono::seconds(2));
}

int64_t Training::stuck_sample(const std::vector<int64_t>& indices) const {
  const size_t step_samples = static_cast<size_t>(arguments_.batch) * arguments_.accumulate;
  for (size_t first = 0, step = step_ + 1; first < indices.size(); first += step_samples, ++step) {
    if (arguments_.faults.hits(Fault::kHungStuck, group_.rank(), static_cast<int64_t>(step)))
      return indices[first];
  }
  return -1;
}

// Even ranks average, odd ones agree: each operation on a communicator of its own.
void Training::exchange_in_subgroup(double loss) {
  if (group_.rank() % 2 == 0 || arguments_.faults.on(Twin::kRenumberedGroup)) {
    subgroup_->average(std::span(&loss, 1));
  } else {
    subgroup_->agree(step_, 0);
  }
}

}  // namespace reference_trainer
