// Writes down what a thread took from others.
#include "injector/threads/hand_over.h"

#include <string.h>

#include "injector/core/hook.h"
#include "injector/core/modules.h"
#include "trace/hand_overs.h"

namespace ddpscope::injector {
namespace {

// Where in its file a call site lies: the return address less one byte belongs to the call.
struct Place {
  std::uint32_t module;
  std::uint64_t offset;
};
Place place_of(trace::FileWriter& file, std::uintptr_t site) {
  Module module;
  if (!find_module(site - 1, &module)) return {0, 0};
  return {module_path(file, module), site - 1 - module.load_bias};
}

// What a thread takes: of the lanes those in `lanes`; and what records say.
struct News {
  Lanes lanes = 0;
  bool recorded = false;
  std::uint64_t since_ticks = 0;  // of a condition: its wait began; of records made from then on
  std::uint32_t number = 0;       // of all others: of those with this number
  explicit operator bool() const { return lanes || recorded; }
};

struct Moment {
  std::uint64_t ticks;
  std::uint32_t stack;
};

std::uint32_t waited(std::uint64_t from_ticks, std::uint64_t until_ticks) {
  if (!from_ticks || until_ticks < from_ticks) return 0;  // nothing was recorded yet when it began
  std::uint64_t units = (until_ticks - from_ticks) >> trace::kWaitedShift;
  return units < UINT32_MAX ? static_cast<std::uint32_t>(units) : UINT32_MAX;
}

void write_hand_over(trace::FileWriter& file, Call call, const trace::payload::HandOver& payload,
                     Moment moment) {
  trace::ThreadWriter::close(
      file,
      this_thread.writer.open_in(file, call, trace::Budget::kBulk, &payload,
                                 trace::kContentBytes<trace::payload::HandOver>, moment.ticks, moment.stack),
      moment.ticks);
}

void write_hand_overs(trace::FileWriter& file, const Taking& taking, const Releases::View& from,
                      const News& news) {
  Place place = place_of(file, taking.site);
  std::uint32_t stack = own_python_place(file);  // before the clock is read
  Moment moment{now(file), stack};
  trace::payload::HandOver payload{};
  payload.object = as_number(taking.object);
  payload.module = place.module;
  payload.site = place.offset;
  payload.kind = static_cast<std::uint8_t>(taking.kind);
  payload.flags = taking.flags;
  payload.number = waited(news.since_ticks, moment.ticks);
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(news.lanes & lane_mask(lane))) continue;
    payload.from_ticks = from.positions[lane];
    payload.from_thread = lane_value(from.threads, lane);
    write_hand_over(file, taking.call, payload, moment);
  }
  if (!news.recorded) return;
  payload.from_ticks = news.number ? moment.ticks : news.since_ticks;
  payload.from_thread = 0;
  payload.number = news.number;
  write_hand_over(file, taking.call, payload, moment);
}

// The lanes of other threads that say something.
Lanes others_in(const Releases::View& view, std::uint16_t own, const JustTaken& already) {
  Lanes others = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    std::uint16_t thread = lane_value(view.threads, lane);
    std::uint64_t position = view.positions[lane];
    if (thread && thread != own && position && !already.covers(thread, position)) others |= lane_mask(lane);
  }
  return others;
}

Lanes differing(Lanes a, Lanes b) {
  Lanes lanes = 0;
  for (int lane = 0; lane < kLanes; ++lane)
    if (lane_value(a ^ b, lane)) lanes |= lane_mask(lane);
  return lanes;
}

// What a thread remembers of an object: how many of its releases it has recorded, what it has last recorded
// under a number, and, by where it took the object, the versions that it took and how many records of others
// there were.
constexpr std::uint64_t kAnywhere = 1, kOwnRecords = 2, kRecords = std::uint64_t{1} << 63;
constexpr std::uint64_t released_under(std::uint32_t number) { return ~std::uint64_t{number}; }

// Only of a mutex it matters where it was locked, and not of one that is locked again in a wait.
std::uint64_t place_key(const Taking& taking) {
  bool by_site = taking.kind == HandOverKind::kMutex && !(taking.flags & trace::kRelock);
  return by_site ? taking.site : kAnywhere;
}

// If a record of its own is forgotten here it counts as another's, and is taken once more.
std::uint32_t recorded_by_others(const Releases& releases, std::uint64_t key, std::uint16_t own) {
  std::uint32_t recorded = releases.recorded.load(std::memory_order_acquire);
  return recorded - static_cast<std::uint32_t>(recall(key, own, kOwnRecords).word);
}

constexpr bool is_signal(HandOverKind kind) {
  return kind == HandOverKind::kCondition || kind == HandOverKind::kFutex;
}

void count_lost() {
  if (trace::FileWriter* file = open_recorder()) file->count(trace::Health::hand_overs_lost);
}

// For a thread without a lane. False if it has said so already, or cannot.
bool record_release(const void* object, HandOverKind kind, Releases& releases, std::uint64_t position) {
  ThreadState& thread = this_thread;
  std::uint32_t number = number_of(releases);
  std::uint64_t key = key_of(object);
  std::uint16_t own = thread.writer.known_number();
  Memory released = recall(key, own, released_under(number));
  if (released.known && released.word == position) return false;
  trace::FileWriter* file = open_recorder();
  OwnWork work(file);
  if (!work) {  // a signal handler
    count_lost();
    return false;
  }
  trace::payload::Release payload{as_number(object), position, is_signal(kind) ? 0 : number,
                                  static_cast<std::uint8_t>(kind)};
  std::uint64_t ticks = trace::read_ticks(file->clock().kind);  // nothing that is handed over: no now()
  trace::ThreadWriter::close(*file, thread.writer.open<Call::released>(*file, payload, ticks), ticks);
  remember(key, own, released_under(number), position);
  remember(key, own, kOwnRecords, recall(key, own, kOwnRecords).word + 1);
  releases.recorded.fetch_add(1, std::memory_order_release);
  return true;
}

}  // namespace

void release_anew(const void* object, HandOverKind kind) {
  ThreadState& thread = this_thread;
  std::uint16_t number = thread.writer.known_number();
  if (!number || inside_vendor_call()) return;
  std::uint64_t key = key_of(object);
  Claim claim = claim_releases(key, number);
  if (!claim.releases || claim.object_lost) count_lost();
  if (!claim.releases) return;
  std::uint64_t position = is_signal(kind) ? thread.position : position_for(key, claim.releases);
  if (!position) return;
  if (claim.lane >= 0)
    publish(*claim.releases, claim.lane, position);
  else if (!record_release(object, kind, *claim.releases, position))
    return;
  // A run of calls is one record with one end: what came before the release must not grow into what comes
  // after.
  end_run();
  ++thread.releases;
}

void take_news(const Taking& taking, const JustTaken& already) {
  std::uint64_t key = key_of(taking.object);
  Releases* releases = find_releases(key);
  if (!releases || inside_vendor_call()) return;
  std::uint16_t own = this_thread.writer.known_number();
  std::uint64_t place = place_key(taking);
  Memory before = recall(key, own, place);
  News news;
  news.number = releases->number.load(std::memory_order_acquire);
  std::uint32_t others_recorded = news.number ? recorded_by_others(*releases, key, own) : 0;
  Memory records_before = news.number ? recall(key, own, place | kRecords) : Memory{0, true};
  news.recorded = !records_before.known || records_before.word != others_recorded;
  int lane = own ? find_lane(releases->threads.load(std::memory_order_acquire), own) : -1;
  Lanes others = lane < 0 ? ~Lanes{0} : ~lane_mask(lane);
  Lanes since = releases->versions.load(std::memory_order_acquire) ^ before.word;
  if (before.known && !(since & others) && !news.recorded) return;
  Releases::View view = releases->view();
  news.lanes = others_in(view, own, already);
  if (before.known) news.lanes &= differing(view.versions, before.word);
  if (!news) return;
  trace::FileWriter* file = recorder(Weight::kFollows);
  OwnWork work(file);
  if (!work || key != key_of(taking.object)) return;  // a copy of the process: nothing was released in it
  ThreadState& thread = this_thread;
  std::uint64_t before_this = thread.position;
  bool goes_on = thread.echo_key == key && thread.echo_position == before_this;
  write_hand_overs(*file, taking, view, news);
  own = thread.writer.number(*file);
  remember(key, own, place, view.versions);
  if (news.recorded) remember(key, own, place | kRecords, others_recorded);
  if (!goes_on) thread.before_echo = before_this;
  thread.echo_key = key;
  thread.echo_position = thread.position;
}

Waiting begin_waiting(const void* object) {
  std::uint64_t key = key_of(object);
  Releases* releases = find_releases(key);
  trace::FileWriter* file = open_recorder();
  std::uint64_t ticks = file ? trace::read_ticks(file->clock().kind) : 0;
  if (!releases) return {key, 0, 0, 0, ticks};
  begin_number(*releases);  // what is signalled from here on is recorded anew
  return {key, releases->threads.load(std::memory_order_acquire),
          releases->versions.load(std::memory_order_acquire),
          releases->recorded.load(std::memory_order_acquire), ticks};
}

JustTaken woken(const Waiting& waiting, const Taking& taking) {
  const Releases* releases = find_releases(waiting.key);
  if (!releases || inside_vendor_call()) return {};
  Releases::View view = releases->view();
  News news{others_in(view, this_thread.writer.known_number(), {}) &
            (differing(view.versions, waiting.versions) | differing(view.threads, waiting.threads))};
  news.recorded = releases->number.load(std::memory_order_acquire) &&
                  releases->recorded.load(std::memory_order_acquire) != waiting.recorded;
  news.since_ticks = waiting.ticks;
  if (!news) return {};
  trace::FileWriter* file = recorder(Weight::kFollows);
  OwnWork work(file);
  if (!work || waiting.key != key_of(taking.object)) return {};
  write_hand_overs(*file, taking, view, news);
  JustTaken taken;
  taken.threads = view.threads & news.lanes;
  memcpy(taken.positions, view.positions, sizeof(taken.positions));
  return taken;
}

void give_up_mutex(const void* mutex) {
  release(mutex, HandOverKind::kMutex);
  const HeldMutex& held = held_mutex(mutex);
  if (held.mutex != mutex || inside_vendor_call()) return;
  trace::FileWriter* file = open_recorder();
  OwnWork work(file);
  if (!work) return;
  std::uint64_t hash = (held.site ^ 0x5173) * 0x9E3779B97F4A7C15u;
  trace::FileWriter::Known* known = file->find_known(hash ^ hash >> 32);
  if (!known || known->id.exchange(1, std::memory_order_relaxed)) return;
  Place place = place_of(*file, held.site);
  record_moment<Call::waiting_site>(*file, {place.offset, place.module});
}

}  // namespace ddpscope::injector
