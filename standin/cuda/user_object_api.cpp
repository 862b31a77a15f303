// Entry points for user objects: counted references of the program and of its graphs.
#include <cuda_runtime_api.h>

#include "standin/cuda/entry.h"
#include "standin/cuda/graph.h"
#include "standin/cuda/handle_table.h"
#include "standin/cuda/observer.h"
#include "standin/cuda/user_object.h"

using namespace ddpscope::standin;

namespace {

HandleTable<cudaUserObject_t, UserObject>& objects() {
  static auto* table = new HandleTable<cudaUserObject_t, UserObject>;
  return *table;
}

void release(cudaUserObject_t handle, unsigned count) {
  const std::shared_ptr<UserObject> object = objects().find(handle);
  require(count > 0 && count <= object->references_of_program, cudaErrorInvalidValue);
  if ((object->references_of_program -= count) == 0) objects().take(handle);
}

}  // namespace

extern "C" {

RUNTIME_API(cudaUserObjectCreate,
            (cudaUserObject_t * object, void* pointer, cudaHostFn_t destroy, unsigned int references,
             unsigned int flags),
            (object, pointer, destroy, references, flags)) {
  return enter([&] {
    require(object && destroy && references > 0 && flags == cudaUserObjectNoDestructorSync,
            cudaErrorInvalidValue);
    *object = objects().add(std::make_shared<UserObject>(pointer, destroy, references));
    return cudaSuccess;
  });
}

RUNTIME_API(cudaUserObjectRetain, (cudaUserObject_t object, unsigned int count), (object, count)) {
  return enter([&] {
    objects().find(object)->references_of_program += count;
    return cudaSuccess;
  });
}

RUNTIME_API(cudaUserObjectRelease, (cudaUserObject_t object, unsigned int count), (object, count)) {
  return enter([&] {
    release(object, count);
    return cudaSuccess;
  });
}

RUNTIME_API(cudaGraphRetainUserObject,
            (cudaGraph_t graph, cudaUserObject_t object, unsigned int count, unsigned int flags),
            (graph, object, count, flags)) {
  return enter([&] {
    require(count > 0 && (flags & ~cudaGraphUserObjectMove) == 0, cudaErrorInvalidValue);
    const GraphRef keeper = find_graph(graph);
    keeper->keeps.insert(keeper->keeps.end(), count, objects().find(object));
    if (flags & cudaGraphUserObjectMove) release(object, count);
    return cudaSuccess;
  });
}

RUNTIME_API(cudaGraphReleaseUserObject, (cudaGraph_t graph, cudaUserObject_t object, unsigned int count),
            (graph, object, count)) {
  return enter([&] {
    const GraphRef keeper = find_graph(graph);
    for (auto kept = keeper->keeps.begin(); kept != keeper->keeps.end() && count > 0;) {
      const bool same = reinterpret_cast<cudaUserObject_t>(kept->get()) == object;
      kept = same ? keeper->keeps.erase(kept) : kept + 1;
      count -= same;
    }
    require(count == 0, cudaErrorInvalidValue);
    return cudaSuccess;
  });
}

}  // extern "C"
