// Records of transfers: one for both sides, and one more for a side that is a socket or pipe.
#include "injector/files/transfer_call.h"

#include "injector/files/meet.h"
#include "injector/files/stamp.h"
#include "injector/streams/stream_io.h"

namespace ddpscope::injector {
namespace {

Io begin_side(trace::FileWriter* file, const TransferSide& side, Direction direction) {
  Io io{};
  io.direction = direction;
  if (OwnWork work(file); work) io.opening = known_opening(*file, side.fd);
  Descriptor d = descriptor(side.fd);
  if (d.kind == DescriptorKind::kStream) {
    Call call = direction == Direction::kWrite ? Call::socket_write : Call::socket_read;
    io.end = &stream_ends[d.index];
    io.record = begin_stream_io(file, call, direction, side.fd, *io.end);
  }
  if (!io.opening) return io;
  io.moves = !side.offset;
  io.at = side.offset ? place(*side.offset) : io.opening->position.load(std::memory_order_relaxed);
  if (io.opening->append && direction == Direction::kWrite) io.at = kUnknownOffset;
  return io;
}

std::uint32_t number_of(const Opening* opening) { return opening && opening->kept ? opening->file : 0; }

void end_side(const Io& io, std::uint64_t bytes, ssize_t result) {
  if (io.end) end_stream_io(io.record, *io.end, io.direction, result);
  if (io.opening && io.moves && io.at != kUnknownOffset)
    io.opening->position.store(io.at + bytes, std::memory_order_relaxed);
}

}  // namespace

Transfer begin_transfer(Call call, const TransferSide& source, const TransferSide& target) {
  trace::FileWriter* file = recorder(Weight::kFollows);
  Transfer transfer{};
  transfer.source = begin_side(file, source, Direction::kRead);
  transfer.target = begin_side(file, target, Direction::kWrite);
  if (!number_of(transfer.source.opening) && !number_of(transfer.target.opening)) return transfer;
  OwnWork work(file);
  if (!work) return transfer;
  trace::payload::FileTransfer payload{};
  payload.source = number_of(transfer.source.opening);
  payload.target = number_of(transfer.target.opening);
  payload.source_offset = transfer.source.opening ? transfer.source.at : kUnknownOffset;
  payload.target_offset = transfer.target.opening ? transfer.target.at : kUnknownOffset;
  payload.count = 1;
  transfer.record = open_file_record(*file, call, trace::Budget::kKept, payload, now(*file));
  return transfer;
}

void end_transfer(const Transfer& transfer, ssize_t result) {
  std::uint64_t bytes = result > 0 ? static_cast<std::uint64_t>(result) : 0;
  end_side(transfer.source, bytes, result);
  end_side(transfer.target, bytes, result);
  auto* payload = results_in<trace::payload::FileTransfer>(transfer.record);
  if (!payload) return;
  payload->bytes = bytes;
  if (result < 0) payload->error = errno;
  end(transfer.record);
}

}  // namespace ddpscope::injector
