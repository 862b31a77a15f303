// Bytes that the kernel moves from one descriptor to another: sendfile, copy_file_range, splice.
#pragma once
#include "injector/files/io.h"

namespace ddpscope::injector {

// One side: a descriptor and, if the call is given one, where in it.
struct TransferSide {
  int fd;
  const off64_t* offset;  // nullptr: at the descriptor's own position
};

struct Transfer {
  trace::OpenRecord record;
  Io source;
  Io target;
};

Transfer begin_transfer(Call call, const TransferSide& source, const TransferSide& target);
void end_transfer(const Transfer& transfer, ssize_t result);

template <Call call, class RealCall>
inline ssize_t recorded_transfer(TransferSide source, TransferSide target, RealCall real_call) {
  static_assert(std::is_same_v<PayloadOf<call>, trace::payload::FileTransfer>);
  if (passes_by(descriptor(source.fd)) && passes_by(descriptor(target.fd))) return real_call();
  Transfer transfer = begin_transfer(call, source, target);
  ssize_t result = real_call();
  end_transfer(transfer, result);
  return result;
}

}  // namespace ddpscope::injector
