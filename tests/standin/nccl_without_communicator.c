/* Every call of NCCL's that has a range and takes no communicator, or refuses none: runs on NVIDIA's NCCL
 * without a GPU, too. Calls that would need either are left out. */
#include <nccl.h>
#include <stddef.h>

int main(void) {
  char buffer[64];
  ncclUniqueId id;
  int number = 0;
  ncclGetUniqueId(&id);
  ncclAllReduce(buffer, buffer, 3, ncclFloat, ncclMax, NULL, NULL);
  ncclAllGather(buffer, buffer, 4, ncclDouble, NULL, NULL);
  ncclReduceScatter(buffer, buffer, 5, ncclInt32, ncclAvg, NULL, NULL);
  ncclBroadcast(buffer, buffer, 6, ncclInt8, 1, NULL, NULL);
  ncclBcast(buffer, 7, ncclHalf, 2, NULL, NULL);
  ncclReduce(buffer, buffer, 8, ncclInt64, ncclProd, 3, NULL, NULL);
  ncclAlltoAll(buffer, buffer, 9, ncclFloat, NULL, NULL);
  ncclGather(buffer, buffer, 10, ncclFloat, 4, NULL, NULL);
  ncclScatter(buffer, buffer, 11, ncclFloat, 5, NULL, NULL);
  ncclSend(buffer, 12, ncclFloat, 6, NULL, NULL);
  ncclRecv(buffer, 13, ncclFloat, 7, NULL, NULL);
  ncclGroupStart();
  ncclGroupEnd();
  ncclCommCount(NULL, &number);
  ncclCommUserRank(NULL, &number);
  ncclCommCuDevice(NULL, &number);
  ncclCommFinalize(NULL);
  ncclCommRevoke(NULL, 0);
  ncclCommAbort(NULL);
  ncclCommDestroy(NULL);
  ncclMemFree(NULL);
  return 0;
}
