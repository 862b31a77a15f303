// Writes down what a thread took from others.
#include "injector/threads/hand_over.h"

#include <string.h>

#include "injector/core/modules.h"

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

void write_hand_overs(trace::FileWriter& file, const Taking& taking, const Releases::View& from, Lanes news) {
  Place place = place_of(file, taking.site);
  std::uint64_t ticks = now(file);
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(news & lane_mask(lane))) continue;
    trace::payload::HandOver payload{};
    payload.object = as_number(taking.object);
    payload.from_ticks = from.positions[lane];
    payload.from_thread = lane_value(from.threads, lane);
    payload.module = place.module;
    payload.site = place.offset;
    payload.kind = static_cast<std::uint8_t>(taking.kind);
    payload.flags = taking.flags;
    trace::ThreadWriter::close(
        file,
        this_thread.writer.open_in(file, taking.call, trace::Budget::kBulk, &payload,
                                   trace::kContentBytes<trace::payload::HandOver>, ticks, 0),
        ticks);
  }
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

// Only of a mutex it matters where it was locked, and not of one that is locked again in a wait.
constexpr std::uint64_t kAnywhere = 1;
std::uint64_t place_key(const Taking& taking) {
  bool by_site = taking.kind == HandOverKind::kMutex && !(taking.flags & trace::kRelock);
  return by_site ? taking.site : kAnywhere;
}

// What this thread pushes out lives on in its own position if it had taken that before.
bool lives_on(const Claim& claim, std::uint64_t key, std::uint16_t number) {
  Taken taken = taken_so_far(key, number, kAnywhere);
  Lanes versions = claim.releases->versions.load(std::memory_order_acquire);
  return taken.known && lane_value(taken.versions ^ versions, claim.lane) == 0;
}

void publish_position(std::uint64_t key, bool always) {
  ThreadState& thread = this_thread;
  std::uint16_t number = thread.writer.known_number();
  if (!number || inside_vendor_call()) return;
  Claim claim = claim_releases(key, number);
  if (!claim.releases || claim.object_lost || (claim.lane_lost && !lives_on(claim, key, number)))
    if (trace::FileWriter* file = open_recorder()) file->count(trace::Health::hand_overs_lost);
  std::uint64_t position = always ? thread.position : position_for(key, claim.releases);
  if (!claim.releases || !position) return;
  publish(*claim.releases, claim.lane, position);
  // A run of calls is one record with one end: what came before the release must not grow into what comes
  // after.
  end_run();
  ++thread.releases;
}

}  // namespace

void release_anew(std::uint64_t key) { publish_position(key, false); }

void signal_waiters(const void* object) {
  if (this_thread.position) publish_position(key_of(object), true);
}

void take_news(const Taking& taking, const JustTaken& already) {
  std::uint64_t key = key_of(taking.object);
  Releases* releases = find_releases(key);
  if (!releases || inside_vendor_call()) return;
  std::uint16_t own = this_thread.writer.known_number();
  Taken before = taken_so_far(key, own, place_key(taking));
  int lane = own ? find_lane(releases->threads.load(std::memory_order_acquire), own) : -1;
  Lanes others = lane < 0 ? ~Lanes{0} : ~lane_mask(lane);
  Lanes since = releases->versions.load(std::memory_order_acquire) ^ before.versions;
  if (before.known && !(since & others)) return;
  Releases::View view = releases->view();
  Lanes news = others_in(view, own, already);
  if (before.known) news &= differing(view.versions, before.versions);
  if (!news) return;
  trace::FileWriter* file = recorder(Weight::kFollows);
  OwnWork work(file);
  if (!work || key != key_of(taking.object)) return;  // a copy of the process: nothing was released in it
  ThreadState& thread = this_thread;
  std::uint64_t before_this = thread.position;
  bool goes_on = thread.echo_key == key && thread.echo_position == before_this;
  write_hand_overs(*file, taking, view, news);
  note_taken(key, thread.writer.number(*file), place_key(taking), view.versions);
  if (!goes_on) thread.before_echo = before_this;
  thread.echo_key = key;
  thread.echo_position = thread.position;
}

Waiting begin_waiting(const void* object) {
  std::uint64_t key = key_of(object);
  const Releases* releases = find_releases(key);
  if (!releases) return {key, 0, 0};
  return {key, releases->threads.load(std::memory_order_acquire),
          releases->versions.load(std::memory_order_acquire)};
}

JustTaken woken(const Waiting& waiting, const Taking& taking) {
  const Releases* releases = find_releases(waiting.key);
  if (!releases || inside_vendor_call()) return {};
  Releases::View view = releases->view();
  Lanes news = others_in(view, this_thread.writer.known_number(), {}) &
               (differing(view.versions, waiting.versions) | differing(view.threads, waiting.threads));
  if (!news) return {};
  trace::FileWriter* file = recorder(Weight::kFollows);
  OwnWork work(file);
  if (!work || waiting.key != key_of(taking.object)) return {};
  write_hand_overs(*file, taking, view, news);
  JustTaken taken;
  taken.threads = view.threads & news;
  memcpy(taken.positions, view.positions, sizeof(taken.positions));
  return taken;
}

void give_up_mutex(const void* mutex) {
  release(mutex);
  const HeldMutex& held = held_mutex(mutex);
  if (held.mutex != mutex || inside_vendor_call()) return;
  trace::FileWriter* file = open_recorder();
  OwnWork work(file);
  if (!work) return;
  std::uint64_t hash = (held.site ^ 0x5173) * 0x9E3779B97F4A7C15u;
  trace::FileWriter::Known* known = file->find_known(hash ^ hash >> 32);
  if (!known || known->id.exchange(1, std::memory_order_relaxed)) return;
  Place place = place_of(*file, held.site);
  std::uint64_t ticks = now(*file);
  trace::payload::LockSite payload{place.offset, place.module};
  trace::ThreadWriter::close(*file, this_thread.writer.open<Call::waiting_site>(*file, payload, ticks),
                             ticks);
}

}  // namespace ddpscope::injector
