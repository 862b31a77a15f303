// The loss on the validation set: all of it on every rank, without gradients.
#include "evaluation.h"

#include <algorithm>
#include <numeric>

#include "sampler.h"

namespace reference_trainer {

Evaluation::Evaluation(const Arguments& arguments, const std::filesystem::path& folder,
                       const Shard& validation)
    : batch_(arguments.batch),
      tokens_per_sample_(arguments.tokens_per_sample()),
      batches_(std::max<int64_t>(kSamples / batch_, 1)),
      samples_(folder, {validation}, batches_ * batch_, tokens_per_sample_, arguments.targets),
      order_(batches_ * batch_) {
  std::iota(order_.begin(), order_.end(), 0);
  if (arguments.faults.on(Twin::kShuffledEvaluation)) {
    order_ = Sampler(samples_.size(), 1, 0, 1, arguments.seed).indices();
  }
}

double Evaluation::run(Model& model, BatchFeed& feed, cudaStream_t stream, Part part) {
  check(cudaMemsetAsync(total_.data(), 0, total_.bytes(), stream));
  std::vector<Token> sample(tokens_per_sample_);
  const int64_t first = batches_ * part.index / part.count, end = batches_ * (part.index + 1) / part.count;
  for (int64_t batch = first; batch < end; ++batch) {
    auto next = feed.fill().begin();
    for (int64_t i = batch * batch_; i < (batch + 1) * batch_; ++i) {
      samples_.read(order_[i], sample);
      next = std::copy(sample.begin(), sample.end(), next);
    }
    model.evaluate(feed.copy(), 1.0 / static_cast<double>(end - first), total_.data(), stream);
  }
  check(cudaStreamSynchronize(stream));
  double loss = 0;
  total_.download(std::span(&loss, 1));
  return loss;
}

}  // namespace reference_trainer
