// NCCL's own ranges: where no hook of ours is around them, they are all that tells of its calls.
#pragma once
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <cstddef>

namespace ddpscope::injector {

// What the members of a payload are, NCCL says in words.
void learn_nccl_schema(const nvtxPayloadSchemaAttr_t& schema);

void push_nccl_range(const nvtxEventAttributes_t* event);
void pop_nccl_range(const nvtxPayloadData_t* payloads, std::size_t count);

}  // namespace ddpscope::injector
