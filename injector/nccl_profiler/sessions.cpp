// What is asked of NCCL, and since when.
#include "injector/nccl_profiler/sessions.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "injector/core/own_code.h"
#include "injector/core/process.h"
#include "injector/core/real.h"
#include "injector/device_times/timing.h"
#include "injector/nccl_profiler/device_timer.h"
#include "injector/nccl_profiler/operations.h"

namespace ddpscope::injector::profiler {

constinit bool any_session = false;

namespace {

constexpr std::uint32_t kSessions = 512;
constinit Session sessions[kSessions]{};
// __atomic: that the other plugin wants, and that NCCL was told of last
constinit int other_mask = 0, forwarded_mask = 0;

constexpr int kCalls = kCollective | kMessage | kCollectiveApi | kMessageApi;

// NCCL's own functions, where the object that holds it exports them.
int nccl_version(const void* caller) {
  Dl_info object;
  if (!dladdr(caller, &object) || !object.dli_fname) return 0;
  void* library = dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return 0;
  int version = 0;
  void* found = real_dlsym(library, "pncclGetVersion");
  if (!found) found = real_dlsym(library, "ncclGetVersion");
  if (found && !is_own_code(reinterpret_cast<std::uintptr_t>(found)))
    reinterpret_cast<ncclResult_t (*)(int*)>(found)(&version);
  dlclose(library);
  return version;
}

// nullptr: NCCL tells when kernels run, at a cost that can be borne.
const char* against_kernel_times(int version, const void* caller) {
  constexpr int kTellsOfKernels = 3, kSlowSince = 23100;
  if (version < kTellsOfKernels)
    return "this NCCL (before 2.26) does not tell its profiler plugin when kernels run";
  if (nccl_version(caller) >= kSlowSince)
    return "NCCL from 2.31 on slows collectives down by some percent while it tells when kernels run";
  return nullptr;
}

Session* take_session() {
  for (Session& session : sessions) {
    bool taken = false;
    if (__atomic_compare_exchange_n(&session.taken, &taken, true, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      return &session;
  }
  return nullptr;
}

// Whether it is to be recorded, and the events that takes.
int begin_telling(Session& session, const void* caller) {
  bool asked_for = wants_profiler();
  if (!may_record() || !wants_device_times() || (session.hooked && !asked_for)) return 0;
  trace::FileWriter* file = session.hooked ? open_recorder() : recorder(Weight::kOpens);
  if (!file) return 0;
  const char* against = against_kernel_times(session.version, caller);
  offer_profiler(*file, against, session.hooked);
  session.tells = true;
  __atomic_store_n(&any_session, true, __ATOMIC_RELEASE);
  return against ? kCalls : kCalls | kKernelChannel;
}

void introduce_other(Session& session, const Introduction& introduction) {
  session.other = other_plugin(session.version);
  if (!session.other.version) return;
  int* mask = session.tells ? &other_mask : session.mask;
  if (init_other(session.other, &session.other_context, mask, introduction) == ncclSuccess) return;
  session.other = {};
  if (introduction.logger)
    introduction.logger(kWarning, ~0ul, __FILE__, __LINE__,
                        "ddpscope: the profiler plugin that it stands before failed to initialise. Continue "
                        "without it");
}

// NCCL has one mask for all communicators.
void set_mask(const Session& session, int ours) {
  if (!session.tells) {
    bool other_tells = false;
    for (const Session& one : sessions) other_tells |= one.taken && one.tells && one.mask == session.mask;
    if (!other_tells) return;
    ours = kCalls | kKernelChannel;
  }
  int others = __atomic_load_n(&other_mask, __ATOMIC_RELAXED);
  __atomic_store_n(&forwarded_mask, others, __ATOMIC_RELAXED);
  __atomic_store_n(session.mask, ours | others | (session.tells ? 0 : *session.mask), __ATOMIC_RELAXED);
}

}  // namespace

ncclResult_t begin_session(int version, void** context, int* mask, const Introduction& introduction,
                           const void* caller) {
  int saved = errno;
  Session* session = take_session();
  if (!session) return ncclSuccess;
  bool hooked = inside_vendor_call();
  Session fresh{};
  fresh.taken = true;  // all the while: others look for a place
  *session = fresh;
  session->hooked = hooked;
  session->version = version;
  session->communicator = introduction.communicator;
  session->rank = introduction.rank;
  session->size = introduction.ranks;
  session->mask = mask;
  if (introduction.name) strncpy(session->name, introduction.name, sizeof(session->name) - 1);
  int ours = begin_telling(*session, caller);
  errno = saved;
  introduce_other(*session, introduction);
  set_mask(*session, ours);
  *context = session;
  return ncclSuccess;
}

ncclResult_t end_session(void* context) {
  Session* session = session_of(context);
  if (!session) return ncclSuccess;
  // As NCCL does it: a plugin that has made no context has nothing to end.
  bool ends = session->other.version && session->other_context;
  ncclResult_t result = ends ? finalize_other(session->other, session->other_context) : ncclSuccess;
  __atomic_store_n(&session->taken, false, __ATOMIC_RELEASE);
  return result;
}

Session* session_of(void* context) {
  auto* session = static_cast<Session*>(context);
  bool one_of_ours = session >= sessions && session < sessions + kSessions;
  return one_of_ours && __atomic_load_n(&session->taken, __ATOMIC_ACQUIRE) ? session : nullptr;
}

std::uint32_t other_mask_of(const Session& session) {
  if (!session.other.version) return 0;
  if (!session.tells) return static_cast<std::uint32_t>(__atomic_load_n(session.mask, __ATOMIC_RELAXED));
  int mask = __atomic_load_n(&other_mask, __ATOMIC_RELAXED);
  int before = __atomic_load_n(&forwarded_mask, __ATOMIC_RELAXED);
  if (mask != before) {  // what it no longer wants may still be ours
    __atomic_store_n(&forwarded_mask, mask, __ATOMIC_RELAXED);
    int ours = kCalls | (*session.mask & kKernelChannel);
    __atomic_store_n(session.mask, ours | mask, __ATOMIC_RELAXED);
  }
  return static_cast<std::uint32_t>(mask);
}

void forget_sessions() {
  if (!any_session) return;
  for (Session& session : sessions) session.tells = false;
  any_session = false;
  forget_timers();
}

}  // namespace ddpscope::injector::profiler
