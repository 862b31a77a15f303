// Records of requests.
#include "injector/streams/store_call.h"

#include "injector/core/turn.h"

namespace ddpscope::injector {
namespace {

void record(trace::FileWriter& file, const StreamEnd& end, StoreOperation operation, std::uint32_t key) {
  trace::payload::StoreKey payload{};
  payload.inode = end.inode;
  payload.offset = end.asked_from;
  payload.key = key;
  payload.operation = static_cast<std::uint8_t>(operation);
  std::uint64_t ticks = now(file);
  trace::ThreadWriter::close(file, this_thread.writer.open<Call::store_key>(file, payload, ticks), ticks);
}

void take(trace::FileWriter& file, StreamEnd& end, const StoreRequests::Event& event) {
  if (event.key)
    end.key = this_thread.writer.intern(file, event.key, event.bytes);
  else
    record(file, end, event.operation, event.with_key ? end.key : 0);
}

void read_all(trace::FileWriter& file, StreamEnd& end, const unsigned char* data, std::size_t bytes) {
  StoreRequests::Event event;
  bool told;
  do {
    if (end.requests.between_requests()) end.asked_from = end.read_to;
    const unsigned char* from = data;
    told = end.requests.read(data, bytes, event);
    end.read_to += static_cast<std::uint64_t>(data - from);
    if (told) take(file, end, event);
  } while (told || (bytes && end.requests.reads()));
}

}  // namespace

void expect_requests(StreamEnd& end) {
  Turn turn(end.asking);
  if (!turn || end.sent.load(std::memory_order_relaxed)) return;
  end.requests.begin();
  end.read_to = 0;
  end.may_ask = true;
}

void read_requests(StreamEnd& end, const void* data, std::size_t bytes) {
  trace::FileWriter* file = open_recorder();
  OwnWork work(file);
  if (!work) return;
  Turn turn(end.asking);
  if (!turn) return;
  std::uint64_t sent = end.sent.load(std::memory_order_relaxed);
  if (sent != end.read_to + bytes) {  // by another function, by another thread, before a fork
    StoreRequests::Event event;
    end.asked_from = sent - bytes;
    if (end.requests.lose(event)) take(*file, end, event);
  } else {
    read_all(*file, end, static_cast<const unsigned char*>(data), bytes);
  }
  end.may_ask.store(end.requests.reads(), std::memory_order_relaxed);
  if (end.requests.between_requests()) end_run();  // the next request is a record of its own
}

}  // namespace ddpscope::injector
