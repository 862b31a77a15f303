// One row an operation.
#include "collector/merged/call_kinds.h"

namespace ddpscope::merged {

CallKind kind_of(const trace::CallInfo& call) {
  using enum trace::Operation;
  if (call.call == trace::Call::reducer_finish) return {Line::kCalls, Kind::kWait};
  switch (call.operation) {
    case kAllReduce:
    case kAllGather:
    case kReduceScatter:
    case kBroadcast:
    case kReduce:
    case kAllToAll:
    case kGather:
    case kScatter:
    case kSend:
    case kReceive:
    case kOneSided:
    case kCommunicatorInit:
    case kCommunicatorSplit:
    case kProcessGroup:
    case kGroupCollective:
    case kGroupPointToPoint:
    case kGroupRun:
      return {Line::kCalls, Kind::kCollective};
    case kGroupBarrier:
      return {Line::kCalls, Kind::kBarrier};
    case kGroupStart:
    case kGroupEnd:
    case kGroupSimulate:
    case kCommunicatorEnd:
    case kProcessGroupEnd:
    case kCommunicatorAbort:
    case kCommunicatorOther:
    case kCommunicatorQuery:
    case kNcclOther:
    case kNcclMemory:
    case kReductionOperator:
    case kLaunch:
    case kHostFunction:
    case kGraphLaunch:
    case kCapture:
    case kStreamQuery:
    case kEventQuery:
    case kEventRecord:
    case kStreamWaitEvent:
    case kStreamCreate:
    case kStreamDestroy:
    case kEventCreate:
    case kEventDestroy:
    case kSetDevice:
    case kDeviceReset:
    case kAllocate:
    case kFree:
      return {Line::kCalls, Kind::kEnqueue};
    case kCopy:
    case kFill:
      return {Line::kCalls, Kind::kCopy};
    case kDeviceWait:
    case kStreamWait:
    case kEventWait:
    case kWaitChild:
    case kThreadJoin:
    case kHandOver:
    case kSharedWait:
    case kGroupWait:
      return {Line::kCalls, Kind::kWait};
    case kRead:
    case kTransfer:
    case kMap:
      return {Line::kFiles, Kind::kFileRead};
    case kWrite:
    case kTruncate:
    case kSync:
      return {Line::kFiles, Kind::kFileWrite};
    case kOpen:
    case kClose:
    case kSeek:
    case kSetTimes:
    case kUnmap:
    case kDuplicate:
    case kRename:
    case kLink:
    case kUnlink:
    case kMakeDirectory:
    case kRemoveDirectory:
    case kStat:
    case kAccess:
    case kChangeDirectory:
    case kOpenDirectory:
    case kReadDirectory:
    case kSharedMemory:
    case kLock:
      return {Line::kFiles, Kind::kTick};
    case kSocket:
    case kPair:
    case kConnect:
    case kAccept:
    case kListen:
    case kStreamSend:
    case kStreamReceive:
    case kStreamClose:
    case kLoaderBatch:
    case kSharedPost:
    case kExchangeSend:
    case kExchangeReceive:
    case kChangeNotice:
    case kMemoryAttach:
      return {Line::kCalls, Kind::kMessage};
    case kFork:
    case kSpawn:
    case kExecute:
    case kExit:
    case kKill:
    case kThreadCreate:
    case kSignal:
    case kTraceback:
    case kJobTold:
    case kMemoryRanOut:
    case kProcessEnded:
      return {Line::kCalls, Kind::kProcess};
    case kCopyDigest:
      return {Line::kInput, Kind::kCopy};
    case kMark:
    case kRangePush:
    case kRangePop:
    case kRangeStart:
    case kRangeEnd:
      return {Line::kRange, Kind::kRange};
    case kBackward:
    case kForward:
    case kOptimizerStep:
    case kZeroGradients:
      return {Line::kPass, Kind::kRange};
    case kNone:
      return {Line::kCalls, Kind::kOther};
    default:
      return {Line::kNone, Kind::kOther};
  }
}

}  // namespace ddpscope::merged
