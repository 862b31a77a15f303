// Each collective as it blocks, and as it gives a request.
#include "injector/mpi/recording.h"

using namespace ddpscope::injector;
using namespace ddpscope::injector::mpi;

namespace {

// One rank's part, as the ranks that have it say: the root of a gather receives it from each, of a scatter
// sends it; the others' arguments for that mean nothing.
Operation part(const ProcessGroup& group, int root, int of_root, Handle type_of_root, int of_others,
               Handle type_of_others) {
  bool is_root = group.rank == root;
  return data(is_root ? of_root : of_others, is_root ? type_of_root : type_of_others, root);
}

std::uint64_t sum(const int* counts, const ProcessGroup& group) {
  std::uint64_t all = 0;
  for (int i = 0; i < group.size; ++i) all += static_cast<std::uint64_t>(counts[i]);
  return all;
}

}  // namespace

#define DDPSCOPE_WORDS(...) __VA_ARGS__

// The parameters of both, by their names; a communicator `comm` and what the operation does, for which
// `group` is there.
#define DDPSCOPE_MPI_COLLECTIVE(blocking_name, begun_name, parameters, names, ...)                        \
  DDPSCOPE_EXPORT int blocking_name(DDPSCOPE_WORDS parameters) {                                          \
    auto describe = [&]([[maybe_unused]] const ProcessGroup& group) -> Operation { return __VA_ARGS__; }; \
    return blocking<Call::blocking_name>(&blocking_name, comm, describe, DDPSCOPE_WORDS names);           \
  }                                                                                                       \
  DDPSCOPE_EXPORT int begun_name(DDPSCOPE_WORDS parameters, Handle* request) {                            \
    auto describe = [&]([[maybe_unused]] const ProcessGroup& group) -> Operation { return __VA_ARGS__; }; \
    return begun<Call::begun_name>(&begun_name, comm, describe, request, DDPSCOPE_WORDS names);           \
  }

DDPSCOPE_MPI_COLLECTIVE(MPI_Barrier, MPI_Ibarrier, (Handle comm), (comm), {})

DDPSCOPE_MPI_COLLECTIVE(MPI_Bcast, MPI_Ibcast,
                        (void* buffer, int count, Handle datatype, int root, Handle comm),
                        (buffer, count, datatype, root, comm), data(count, datatype, root))

DDPSCOPE_MPI_COLLECTIVE(MPI_Reduce, MPI_Ireduce,
                        (const void* sendbuf, void* recvbuf, int count, Handle datatype, Handle op, int root,
                         Handle comm),
                        (sendbuf, recvbuf, count, datatype, op, root, comm),
                        reduced(count, datatype, op, root))

DDPSCOPE_MPI_COLLECTIVE(MPI_Allreduce, MPI_Iallreduce,
                        (const void* sendbuf, void* recvbuf, int count, Handle datatype, Handle op,
                         Handle comm),
                        (sendbuf, recvbuf, count, datatype, op, comm), reduced(count, datatype, op))

DDPSCOPE_MPI_COLLECTIVE(MPI_Gather, MPI_Igather,
                        (const void* sendbuf, int sendcount, Handle sendtype, void* recvbuf, int recvcount,
                         Handle recvtype, int root, Handle comm),
                        (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm),
                        part(group, root, recvcount, recvtype, sendcount, sendtype))

DDPSCOPE_MPI_COLLECTIVE(MPI_Gatherv, MPI_Igatherv,
                        (const void* sendbuf, int sendcount, Handle sendtype, void* recvbuf,
                         const int* recvcounts, const int* displs, Handle recvtype, int root, Handle comm),
                        (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm),
                        {.peer = root})

// Its own part, too, may be in the place of the result: what is received says how much it is.
DDPSCOPE_MPI_COLLECTIVE(MPI_Allgather, MPI_Iallgather,
                        (const void* sendbuf, int sendcount, Handle sendtype, void* recvbuf, int recvcount,
                         Handle recvtype, Handle comm),
                        (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm),
                        data(recvcount, recvtype))

DDPSCOPE_MPI_COLLECTIVE(MPI_Allgatherv, MPI_Iallgatherv,
                        (const void* sendbuf, int sendcount, Handle sendtype, void* recvbuf,
                         const int* recvcounts, const int* displs, Handle recvtype, Handle comm),
                        (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm), {})

DDPSCOPE_MPI_COLLECTIVE(MPI_Scatter, MPI_Iscatter,
                        (const void* sendbuf, int sendcount, Handle sendtype, void* recvbuf, int recvcount,
                         Handle recvtype, int root, Handle comm),
                        (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm),
                        part(group, root, sendcount, sendtype, recvcount, recvtype))

DDPSCOPE_MPI_COLLECTIVE(MPI_Scatterv, MPI_Iscatterv,
                        (const void* sendbuf, const int* sendcounts, const int* displs, Handle sendtype,
                         void* recvbuf, int recvcount, Handle recvtype, int root, Handle comm),
                        (sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm),
                        {.peer = root})

DDPSCOPE_MPI_COLLECTIVE(MPI_Alltoall, MPI_Ialltoall,
                        (const void* sendbuf, int sendcount, Handle sendtype, void* recvbuf, int recvcount,
                         Handle recvtype, Handle comm),
                        (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm),
                        data(recvcount, recvtype))

DDPSCOPE_MPI_COLLECTIVE(
    MPI_Alltoallv, MPI_Ialltoallv,
    (const void* sendbuf, const int* sendcounts, const int* sdispls, Handle sendtype, void* recvbuf,
     const int* recvcounts, const int* rdispls, Handle recvtype, Handle comm),
    (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm), {})

DDPSCOPE_MPI_COLLECTIVE(
    MPI_Alltoallw, MPI_Ialltoallw,
    (const void* sendbuf, const int* sendcounts, const int* sdispls, const Handle* sendtypes, void* recvbuf,
     const int* recvcounts, const int* rdispls, const Handle* recvtypes, Handle comm),
    (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm), {})

DDPSCOPE_MPI_COLLECTIVE(MPI_Reduce_scatter, MPI_Ireduce_scatter,
                        (const void* sendbuf, void* recvbuf, const int* recvcounts, Handle datatype,
                         Handle op, Handle comm),
                        (sendbuf, recvbuf, recvcounts, datatype, op, comm),
                        reduced(sum(recvcounts, group), datatype, op))

DDPSCOPE_MPI_COLLECTIVE(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block,
                        (const void* sendbuf, void* recvbuf, int recvcount, Handle datatype, Handle op,
                         Handle comm),
                        (sendbuf, recvbuf, recvcount, datatype, op, comm), reduced(recvcount, datatype, op))

DDPSCOPE_MPI_COLLECTIVE(MPI_Scan, MPI_Iscan,
                        (const void* sendbuf, void* recvbuf, int count, Handle datatype, Handle op,
                         Handle comm),
                        (sendbuf, recvbuf, count, datatype, op, comm), reduced(count, datatype, op))

DDPSCOPE_MPI_COLLECTIVE(MPI_Exscan, MPI_Iexscan,
                        (const void* sendbuf, void* recvbuf, int count, Handle datatype, Handle op,
                         Handle comm),
                        (sendbuf, recvbuf, count, datatype, op, comm), reduced(count, datatype, op))
