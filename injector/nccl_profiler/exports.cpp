// The tables by which NCCL finds us: NCCL_PROFILER_PLUGIN=STATIC_PLUGIN, or the path of this library.
#include "injector/core/hook.h"
#include "injector/nccl_profiler/plugin.h"
#include "injector/nccl_profiler/sessions.h"

namespace ddpscope::injector::profiler {
namespace {

template <int version>
ncclResult_t init_v1(void** context, int* mask) {
  return begin_session(version, context, mask, {0, nullptr, 0, 0, -1, nullptr}, __builtin_return_address(0));
}

ncclResult_t init_v4(void** context, int* mask, const char* name, std::uint64_t communicator, int nodes,
                     int ranks, int rank, Logger logger) {
  return begin_session(4, context, mask, {communicator, name, nodes, ranks, rank, logger},
                       __builtin_return_address(0));
}

template <int version>
ncclResult_t init_v5(void** context, std::uint64_t communicator, int* mask, const char* name, int nodes,
                     int ranks, int rank, Logger logger) {
  return begin_session(version, context, mask, {communicator, name, nodes, ranks, rank, logger},
                       __builtin_return_address(0));
}

constexpr char kName[] = "ddpscope";

template <int version>
using OldTable = Table<InitV1, typename EventOf<version>::Type>;

template <class SomeTable, int version, class Init>
constexpr SomeTable table(Init* init) {
  return {kName, init, start_event<version>, stop_event, record_state, end_session};
}

}  // namespace

#define DDPSCOPE_TABLE extern "C" __attribute__((visibility("default"))) const constinit
DDPSCOPE_TABLE OldTable<1> ncclProfiler_v1 = table<OldTable<1>, 1>(init_v1<1>);
DDPSCOPE_TABLE OldTable<2> ncclProfiler_v2 = table<OldTable<2>, 2>(init_v1<2>);
DDPSCOPE_TABLE OldTable<3> ncclProfiler_v3 = table<OldTable<3>, 3>(init_v1<3>);
DDPSCOPE_TABLE Table<InitV4, EventV4> ncclProfiler_v4 = table<Table<InitV4, EventV4>, 4>(init_v4);
DDPSCOPE_TABLE Table<InitV5, EventV5> ncclProfiler_v5 = table<Table<InitV5, EventV5>, 5>(init_v5<5>);
DDPSCOPE_TABLE Table<InitV5, EventV5> ncclProfiler_v6 = table<Table<InitV5, EventV5>, 6>(init_v5<6>);
#undef DDPSCOPE_TABLE

}  // namespace ddpscope::injector::profiler
