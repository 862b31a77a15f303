// One lock for whatever changes who has CUPTI; the hot path asks a flag (links_device_work).
#include "injector/device_times/cupti_session.h"

#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <iterator>

#include "injector/core/hook.h"
#include "injector/device_times/cupti_buffers.h"
#include "injector/device_times/cupti_kinds.h"
#include "injector/device_times/cupti_library.h"
#include "injector/device_times/cupti_records.h"
#include "injector/device_times/own_thread.h"
#include "injector/device_times/timing.h"
#include "trace/write/raw_syscall.h"

namespace ddpscope::injector {
namespace {

constexpr std::uint64_t kFlushNs = 1'000'000'000;
constexpr std::uint64_t kFinishNs = 200'000'000;
constexpr const char* kLentReason = "the program uses CUPTI itself";

enum class State : int {
  kOff,
  kArmed,
  kLent,   // to a client of the program's own
  kEnded,  // for good
};

struct Session {
  State state;
  int lock;  // 1: taken
  CUpti_SubscriberHandle handle;
  int client_calls;  // by which it takes CUPTI: threads that are inside of one
  bool client_subscribed;
  std::uint64_t client_kinds[4];  // bits: what it has enabled
  bool stopped;                   // it has disabled the last of these
  bool quiet;                     // it has unsubscribed, or got all that it had recorded
  int quiet_looks;                // of the flusher, since then
  bool client_contexts;           // it has enabled or disabled some for one context alone
  CUpti_BuffersCallbackRequestFunc client_request;
  CUpti_BuffersCallbackCompleteFunc client_complete;
};
Session session;
CuptiRecords records;
int reading;  // 1: a thread reads a buffer
OwnThread flusher;

// Held for system calls at most: whoever waits gives its processor away.
class Lock {
 public:
  explicit Lock(int& taken) : taken_(taken) {
    while (__atomic_exchange_n(&taken_, 1, __ATOMIC_ACQUIRE)) sched_yield();
  }
  ~Lock() { __atomic_store_n(&taken_, 0, __ATOMIC_RELEASE); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int& taken_;
};

void CUPTIAPI request_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *buffer = take_cupti_buffer();
  *bytes = *buffer ? kCuptiBufferBytes : 0;
  *most_records = 0;
}

void count_dropped(trace::FileWriter& file, CUcontext context, std::uint32_t stream) {
  std::size_t dropped = 0;
  if (cupti()->dropped(context, stream, &dropped) == CUPTI_SUCCESS && dropped)
    file.count(trace::Health::device_work_dropped, dropped);
}

void CUPTIAPI complete_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                              std::size_t used) {
  if (trace::FileWriter* file = recorder(Weight::kFollows)) {
    Lock one_reader(reading);
    if (used) records.take(*file, buffer, used);
    count_dropped(*file, context, stream);
  }
  give_cupti_buffer_back(buffer);  // what another client has left with CUPTI stays its own
}

void CUPTIAPI complete_clients_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                                      std::size_t bytes, std::size_t used) {
  if (is_cupti_buffer(buffer)) return complete_buffer(context, stream, buffer, bytes, used);
  auto* complete = __atomic_load_n(&session.client_complete, __ATOMIC_ACQUIRE);
  if (complete) complete(context, stream, buffer, bytes, used);
}

void CUPTIAPI no_callback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

// Nsight and the debuggers have CUPTI, or would lose what they are there for.
bool another_tool_is_there() {
  const char* injection = getenv("CUDA_INJECTION64_PATH");
  if (injection && *injection && !strstr(injection, "libddpscope")) return true;
  for (const char* name :
       {"NSYS_PROFILING_SESSION_ID", "NV_NSIGHT_INJECTION_TRANSPORT_TYPE", "CUDA_SANITIZER_ENABLED"})
    if (getenv(name)) return true;
  return false;
}

// Compares the clocks, and tells it.
void tell_clock(trace::FileWriter& file) {
  Lock one_reader(reading);
  records.clock.read(file);
  records.settle(file);
  OwnWork work(&file);
  if (!work) return;
  record_moment<Call::device_clock>(
      file, {records.clock.latest_ns(), records.clock.latest_ticks(), records.clock.error_ns(), 0});
}

// With CUPTI's own name for why.
const char* refusal(const char* what, CUptiResult result) {
  static char text[128];
  const char* name = nullptr;
  auto* name_of = cupti()->name_of;
  if (!name_of || name_of(result, &name) != CUPTI_SUCCESS || !name) return what;
  snprintf(text, sizeof(text), "%s: %s", what, name);
  return text;
}

const char* arm(trace::FileWriter& file) {
  const Cupti& c = *cupti();
  CUptiResult result = c.subscribe(&session.handle, no_callback, nullptr);
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
    return "another client has subscribed to CUPTI";
  if (result != CUPTI_SUCCESS) return refusal("CUPTI refused the subscription", result);
  tell_clock(file);
  result = c.register_callbacks(request_buffer, complete_buffer);
  if (result == CUPTI_SUCCESS) result = enable_cupti_kinds(c);
  if (result == CUPTI_SUCCESS) {
    session.state = State::kArmed;
    if (c.last_error) c.last_error();  // calls of CUDA that this CUPTI does not know: not the guest's error
    __atomic_store_n(&links_device_work, true, __ATOMIC_RELEASE);
    return nullptr;
  }
  disable_cupti_kinds(c);
  c.unsubscribe(session.handle);
  return refusal("CUPTI refused to record kernels", result);
}

void disarm() {
  const Cupti& c = *cupti();
  __atomic_store_n(&links_device_work, false, __ATOMIC_RELEASE);
  trace::FileWriter* file = recorder(Weight::kFollows);
  if (file) tell_clock(*file);
  disable_cupti_kinds(c);  // before: a thread that launches between the two would ask for another buffer
  c.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  c.unsubscribe(session.handle);
  if (!file) return;
  count_dropped(*file, nullptr, 0);
  Lock one_reader(reading);
  records.settle(*file);  // what waits, waits for the next flush
  records.settle(*file);
}

bool client_records() {
  for (std::uint64_t kinds : session.client_kinds)
    if (kinds) return true;
  return false;
}

// By our hooks, which see it go, too.
bool client_was_seen() {
  return session.client_calls || session.client_subscribed || session.client_request ||
         session.client_contexts || client_records();
}

bool client_is_quiet() {
  return session.state == State::kLent && !session.client_subscribed && !session.client_contexts &&
         session.quiet && !client_records();
}

// At the second look since the client has gone. At the first, the clock is read: the client may have given
// CUPTI another one, whose rate is known at the second.
bool may_arm_again(trace::FileWriter& file) {
  if (!client_is_quiet()) return false;
  if (++session.quiet_looks > 1) return true;
  Lock one_reader(reading);
  records.clock.read(file);
  return false;
}

void look(trace::FileWriter& file) {
  Lock lock(session.lock);
  if (session.state == State::kArmed) {
    cupti()->flush(0);
    count_dropped(file, nullptr, 0);
    tell_clock(file);
  } else if (may_arm_again(file)) {
    // Refused: no hook sees who has it now, so that client may come again as unseen, and must not meet us.
    if (arm(file))
      session.state = State::kEnded;
    else
      change_tier(file, TimingTier::kCupti, "the other client of CUPTI has gone");
  }
}

void* run(void*) {
  this_thread.vendor_thread = true;  // what CUPTI does here is not the guest's
  trace::FileWriter* file = recorder(Weight::kFollows);
  while (file && flusher.goes_on_after(kFlushNs)) look(*file);
  {
    Lock lock(session.lock);
    if (session.state == State::kArmed) disarm();
    session.state = State::kEnded;
  }
  flusher.end();
  return nullptr;
}

}  // namespace

constinit bool links_device_work = false;

// `position` is the begin of the thread's latest record; in a run of calls, a time within it.
void link_device_work() {
  std::uint16_t thread = this_thread.writer.known_number();
  std::uint64_t id = thread ? link_of(thread, trace::call_time(this_thread.position)) : 0;
  cupti()->push(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, id);
}

void unlink_device_work() {
  std::uint64_t id = 0;
  cupti()->pop(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &id);
}

const char* start_cupti(trace::FileWriter& file) {
  Lock lock(session.lock);
  if (another_tool_is_there()) return "another tool is there, which uses CUPTI or the debugger's interface";
  if (!cupti()) return "CUPTI was not found";
  if (!prepare_cupti_buffers()) return "no memory for CUPTI's buffers";
  const bool lent = client_was_seen();  // as if it had come after us: the flusher looks whether it has gone
  const char* reason = lent ? kLentReason : arm(file);
  if (reason && !lent) return reason;
  if (lent) session.state = State::kLent;
  if (flusher.start(run)) return reason;
  if (session.state == State::kArmed) disarm();
  session.state = State::kEnded;
  return reason ? reason : "no thread could be started to read what CUPTI tells";
}

CuptiLoan::CuptiLoan() {
  Lock lock(session.lock);
  ++session.client_calls;
  session.quiet = false;
  if (session.state != State::kArmed) return;
  disarm();
  session.state = State::kLent;
  if (trace::FileWriter* file = open_recorder()) change_tier(*file, TimingTier::kEvents, kLentReason);
}

CuptiLoan::~CuptiLoan() {
  Lock lock(session.lock);
  if (session.client_calls) --session.client_calls;  // none are known behind a fork
}

void note_cupti_client(bool subscribed) {
  Lock lock(session.lock);
  session.client_subscribed = subscribed;
  session.quiet = !subscribed;
  session.quiet_looks = 0;
}

void note_cupti_end() {
  note_cupti_callbacks(nullptr, nullptr);
  note_cupti_client(false);
  Lock lock(session.lock);
  for (std::uint64_t& kinds : session.client_kinds) kinds = 0;
  session.client_contexts = false;
}

void note_cupti_kind(CUpti_ActivityKind kind, bool enabled) {
  constexpr unsigned kBits = 64;
  auto number = static_cast<unsigned>(kind);
  if (number / kBits >= std::size(session.client_kinds)) return;
  Lock lock(session.lock);
  std::uint64_t bit = std::uint64_t{1} << number % kBits;
  std::uint64_t& kinds = session.client_kinds[number / kBits];
  bool recorded = client_records();
  kinds = enabled ? kinds | bit : kinds & ~bit;
  session.stopped = !client_records() && (recorded || session.stopped);
}

void note_cupti_context() {
  Lock lock(session.lock);
  session.client_contexts = true;
}

// Who never subscribes has gone when it has disabled everything and then flushed: nothing of its is left with
// CUPTI that our callbacks would be given.
void note_cupti_flush() {
  Lock lock(session.lock);
  if (session.quiet || !session.stopped) return;
  session.quiet = true;
  session.quiet_looks = 0;
}

void note_cupti_callbacks(CUpti_BuffersCallbackRequestFunc request,
                          CUpti_BuffersCallbackCompleteFunc complete) {
  Lock lock(session.lock);
  session.client_request = request;
  __atomic_store_n(&session.client_complete, complete, __ATOMIC_RELEASE);
}

void restore_cupti_callbacks() {
  Lock lock(session.lock);
  if (session.client_request && cupti())
    cupti()->register_callbacks(session.client_request, complete_for_client(session.client_complete));
}

CUpti_BuffersCallbackCompleteFunc complete_for_client(CUpti_BuffersCallbackCompleteFunc complete) {
  return complete && uses_cupti() ? complete_clients_buffer : complete;
}

bool records_cupti_kind(CUpti_ActivityKind kind) {
  Lock lock(session.lock);
  return session.state == State::kArmed && is_cupti_kind(kind);
}

void finish_cupti() { flusher.finish(kFinishNs); }

bool uses_cupti() { return flusher.was_started(); }

void forget_cupti() {
  flusher.forget();
  session = Session{};
  reading = 0;
  links_device_work = false;
}

}  // namespace ddpscope::injector
