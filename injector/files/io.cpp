// Runs of reads and writes.
#include "injector/files/io.h"

#include "injector/core/turn.h"
#include "injector/files/created_name.h"
#include "injector/files/digests.h"
#include "injector/files/meet.h"
#include "injector/files/stamp.h"
#include "injector/processes/generation.h"
#include "injector/streams/exchange_call.h"
#include "injector/streams/loader_batches.h"
#include "injector/streams/stream_io.h"
#include "trace/write/raw_syscall.h"

namespace ddpscope::injector {
namespace {

Run& run_of(Opening& opening, Direction direction) {
  return direction == Direction::kWrite ? opening.writes : opening.reads;
}

// A flush makes visible what the run has written: it belongs to it. What is appended may go on where the run
// ended: it shows afterwards.
bool continues(const trace::FileWriter& file, const Run& run, const Io& io, Call call) {
  return run.started && (io.appends || run.next == io.at) && run.stamp == stamp() && run.record &&
         run.record.epoch == file.epoch() &&
         (run.record.record->call == static_cast<std::uint16_t>(call) || call == Call::fflush);
}

// 16 MiB a process, whatever it reads.
constexpr std::uint32_t kMostItems = 1u << 20;
std::atomic<std::uint32_t> items_written;

// Samplers that pick places in one big file, and files beyond those whose opening is kept, show in items:
// which bytes of which file, for as long as the job runs, when the bulk records of the same reads are long
// overwritten.
void add_item_of(trace::FileWriter& file, const Opening& opening, const Run& run) {
  bool picked = run.started && run.next != run.start && (run.start != 0 || !opening.kept);
  if (!picked || opening.writable || opening.epoch != file.epoch()) return;
  std::uint64_t bytes = run.next - run.start;
  constexpr std::uint32_t kMost = ~std::uint32_t{0};
  if (run.start == kUnknownOffset) return;
  if (items_written.load(std::memory_order_relaxed) >= kMostItems) {
    file.count(trace::Health::items_lost);
    return;
  }
  items_written.fetch_add(1, std::memory_order_relaxed);
  trace::ItemRead item{run.start, bytes < kMost ? static_cast<std::uint32_t>(bytes) : kMost, opening.file};
  this_thread.writer.add_item(file, item);
}

trace::OpenRecord open_record(trace::FileWriter& file, const IoRequest& request, const Io& io,
                              std::uint64_t ticks) {
  trace::payload::FileIo payload{};
  payload.file = io.opening->file;
  payload.fd = request.fd;
  payload.offset = payload.next = io.at;
  trace::Budget budget = io.direction == Direction::kWrite ? trace::Budget::kKept : trace::Budget::kBulk;
  return open_file_record(file, request.call, budget, payload, ticks);
}

// What streams of stdio are given is written later, and in other pieces; so may be what is formatted.
bool writes_at_once(Call call) {
  return call == Call::write || call == Call::writev || call == Call::pwritev2 || call == Call::pwritev64v2;
}

void resume_run(trace::FileWriter& file, const Run& run, Io* io) {
  std::uint64_t end = run.record.record->end;
  io->record = this_thread.writer.resume(file, run.record);
  if (!io->record) return;  // another thread's
  io->end_before = end;
  io->began = io->appends ? now(file) : 0;
  io->next_before = run.next;
  io->at_end_before = run.at_end;
}

void begin_file_io(const IoRequest& request, Opening& opening, trace::FileWriter& file, Io* io) {
  io->opening = &opening;
  io->fd = request.fd;
  io->moves = request.offset == kHere;
  io->appends = opening.append && io->direction == Direction::kWrite;
  io->tells = io->appends && io->moves && writes_at_once(request.call);
  io->numbered = opening.append && io->moves;
  if (io->numbered) io->move = opening.moves.begin();
  io->at = io->moves ? opening.position.load(std::memory_order_relaxed) : request.offset;
  if (io->appends) io->at = kUnknownOffset;
  if (!opening.kept) return;
  Turn turn(opening.taken);
  Run& run = run_of(opening, io->direction);
  if (turn && continues(file, run, *io, request.call)) resume_run(file, run, io);
  if (!io->record) io->record = open_record(file, request, *io, now(file));
}

std::uint64_t after(std::uint64_t at, std::uint64_t bytes) {
  return at == kUnknownOffset ? kUnknownOffset : at + bytes;
}

// So many records an opening, of what is appended and does not follow the earlier write; then one for all.
constexpr std::uint32_t kMostGaps = 10'000;

// Where the bytes that were appended begin. The kernel says so to who alone has the description: a child, or
// another thread, may have written through it since.
std::uint64_t landed(const Io& io, std::uint64_t bytes) {
  Opening& opening = *io.opening;
  auto own = [&] { return opening.moves.is_alone(io.move) && opening.given == descriptors_given(); };
  if (!io.tells || !io.record || opening.gaps >= kMostGaps || !own()) return kUnknownOffset;
  long end = trace::raw_syscall(SYS_lseek, io.fd, 0, SEEK_CUR);
  if (end < static_cast<long>(bytes) || !own()) return kUnknownOffset;
  return static_cast<std::uint64_t>(end) - bytes;
}

// It does not belong to the run after all, whose record is as it was; it gets one of its own.
void part_from_run(Io& io) {
  trace::FileWriter* file = open_recorder();
  OwnWork work(file);
  auto* earlier = work ? results_in<trace::payload::FileIo>(io.record) : nullptr;
  if (!earlier) return;
  auto call = static_cast<Call>(io.record.record->call);
  IoRequest request{call, call, io.direction, io.fd, io.at};
  trace::ThreadWriter::close(*file, io.record, io.end_before);
  io.record = open_record(*file, request, io, io.began ? io.began : now(*file));
}

void extend_run(const Io& io, std::uint64_t next, bool at_end) {
  Turn turn(io.opening->taken);
  if (!turn) return;
  Run& run = run_of(*io.opening, io.direction);
  bool continued = run.started && run.next == io.at;
  if (!continued) {
    trace::FileWriter* file = open_recorder();
    OwnWork work(file);
    if (work) add_item_of(*file, *io.opening, run);
    run.start = io.at;
  }
  run.record = io.record;
  run.next = next;
  run.stamp = stamp();
  run.started = true;
  run.at_end = at_end;
}

void record_result(const Io& io, ssize_t result, std::uint64_t bytes, std::uint64_t next) {
  auto* payload = results_in<trace::payload::FileIo>(io.record);
  if (!payload) return;
  if (io.appends && !payload->count) payload->offset = io.at;
  ++payload->count;
  payload->bytes += bytes;
  if (bytes || !io.appends) payload->next = next;
  if (result < 0) payload->error = errno;
  end(io.record);
}

// Reads that find the end of the file are a run of their own: who reads on from there later has come back for
// more.
void end_file_io(Io io, ssize_t result) {
  std::uint64_t bytes = result > 0 ? static_cast<std::uint64_t>(result) : 0;
  bool at_end = io.direction == Direction::kRead && result == 0;
  if (io.appends && bytes) io.at = landed(io, bytes);
  if (io.numbered) io.opening->moves.end();
  bool gap = io.end_before && io.appends && bytes && io.at != io.next_before;
  if (gap) ++io.opening->gaps;
  if (gap || (io.end_before && at_end != io.at_end_before)) part_from_run(io);
  std::uint64_t next = after(io.at, bytes);
  record_result(io, result, bytes, next);
  if (io.moves && bytes) io.opening->position.store(next, std::memory_order_relaxed);
  if (bytes || at_end) extend_run(io, next, at_end);
}

bool is_event(Descriptor d) { return d.kind == DescriptorKind::kEvent || d.kind == DescriptorKind::kNotices; }

}  // namespace

Io begin_io(const IoRequest& request) {
  Io io{};
  io.direction = request.direction;
  trace::FileWriter* file = recorder(Weight::kFollows);
  Descriptor d = descriptor(request.fd);
  if (d.kind == DescriptorKind::kStream) {  // counted even when nothing is recorded
    io.end = &stream_ends[d.index];
    io.record = begin_stream_io(file, request.stream_call, request.direction, request.fd, *io.end);
    return io;
  }
  if (is_event(d)) {
    io.event = true;
    io.record = begin_event_io(d, request.direction, request.fd);
    return io;
  }
  {
    OwnWork work(file);
    if (!work) return io;
    if (Opening* opening = known_opening(*file, request.fd)) begin_file_io(request, *opening, *file, &io);
  }
  // Met just now and no file after all.
  d = descriptor(request.fd);
  return d.kind == DescriptorKind::kStream || is_event(d) ? begin_io(request) : io;
}

void end_io(const Io& io, ssize_t result) {
  if (io.opening) end_file_io(io, result);
  if (io.end) end_stream_io(io.record, *io.end, io.direction, result);
  if (io.event) end_exchange(io.record, result >= 0);
}

void look_into(const void* bytes, ssize_t size) {
  if (size <= 0) return;
  auto batch = read_loader_batch(bytes, static_cast<std::size_t>(size));
  if (!batch) return;
  trace::FileWriter* file = recorder(Weight::kFollows);
  OwnWork work(file);
  if (!work) return;
  std::uint32_t stack = stack_for<Call::loader_batch>(*file, Stack::kFirst, 0);
  record_moment<Call::loader_batch>(*file, *batch, stack);
}

void digest_written(const Io& io, const iovec* parts, int count, ssize_t written) {
  if (!io.opening || !io.record || written <= 0 || io.at == kUnknownOffset) return;
  trace::FileWriter* file = open_recorder();
  OwnWork work(file);
  if (!work) return;
  Turn turn(io.opening->taken);
  if (turn)
    digest(*file, *io.opening, io.at, parts, count, static_cast<std::uint64_t>(written));
  else
    file->count(trace::Health::digests_skipped);
}

void finish_io(Opening& opening) {
  forget_created_name(opening);
  trace::FileWriter* file = open_recorder();
  OwnWork work(file);
  if (!work) return;
  add_item_of(*file, opening, opening.reads);
  if (opening.epoch == file->epoch()) finish_digest(*file, opening);
  opening.reads.started = opening.writes.started = false;
}

}  // namespace ddpscope::injector
