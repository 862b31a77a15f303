// Messages that block: where a rank stands that is missing in a collective.
#include "injector/mpi/recording.h"

using namespace ddpscope::injector;
using namespace ddpscope::injector::mpi;

namespace {

Operation message(int count, Handle datatype, int peer, int tag) {
  Operation operation = data(count, datatype, peer);
  operation.tag = tag;
  return operation;
}

}  // namespace

DDPSCOPE_EXPORT int MPI_Send(const void* buf, int count, Handle datatype, int dest, int tag, Handle comm) {
  auto describe = [&](const ProcessGroup&) { return message(count, datatype, dest, tag); };
  return blocking<Call::MPI_Send>(&MPI_Send, comm, describe, buf, count, datatype, dest, tag, comm);
}

DDPSCOPE_EXPORT int MPI_Ssend(const void* buf, int count, Handle datatype, int dest, int tag, Handle comm) {
  auto describe = [&](const ProcessGroup&) { return message(count, datatype, dest, tag); };
  return blocking<Call::MPI_Ssend>(&MPI_Ssend, comm, describe, buf, count, datatype, dest, tag, comm);
}

DDPSCOPE_EXPORT int MPI_Recv(void* buf, int count, Handle datatype, int source, int tag, Handle comm,
                             void* status) {
  auto describe = [&](const ProcessGroup&) { return message(count, datatype, source, tag); };
  return blocking<Call::MPI_Recv>(&MPI_Recv, comm, describe, buf, count, datatype, source, tag, comm, status);
}

DDPSCOPE_EXPORT int MPI_Sendrecv(const void* sendbuf, int sendcount, Handle sendtype, int dest, int sendtag,
                                 void* recvbuf, int recvcount, Handle recvtype, int source, int recvtag,
                                 Handle comm, void* status) {
  auto describe = [&](const ProcessGroup&) { return message(sendcount, sendtype, dest, sendtag); };
  return blocking<Call::MPI_Sendrecv>(&MPI_Sendrecv, comm, describe, sendbuf, sendcount, sendtype, dest,
                                      sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, status);
}

DDPSCOPE_EXPORT int MPI_Probe(int source, int tag, Handle comm, void* status) {
  auto describe = [&](const ProcessGroup&) { return Operation{.peer = source, .tag = tag}; };
  return blocking<Call::MPI_Probe>(&MPI_Probe, comm, describe, source, tag, comm, status);
}
