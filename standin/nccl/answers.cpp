#include "standin/nccl/answers.h"

#include <span>

#include "standin/nccl/failure.h"
#include "standin/nccl/links.h"

namespace ddpscope::standin::nccl {

void Answers::expect(const Signature& ours, std::size_t bytes) {
  missing_.push_back({ours, bytes});
  bytes_ += bytes;
}

bool Answers::receive_some(int fd, int peer) {
  if (missing_.empty()) return false;
  if (!receive_rest(fd, peer, std::as_writable_bytes(std::span(&arriving_, 1)), arrived_)) return false;
  if (arrived_ < sizeof arriving_) return true;
  arrived_ = 0;
  const Missing answered = missing_.front();
  if (arriving_ != answered.ours) throw Mismatch{peer, arriving_, answered.ours};
  missing_.pop_front();
  bytes_ -= answered.bytes;
  return true;
}

}  // namespace ddpscope::standin::nccl
