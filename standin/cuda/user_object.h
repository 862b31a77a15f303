// What a program wants to live as long as the graphs that use it.
#pragma once

#include <driver_types.h>

#include <atomic>

namespace ddpscope::standin {

/// Ends with the last reference, be it the program's or a graph's.
class UserObject {
 public:
  UserObject(void* pointer, cudaHostFn_t destroy, unsigned references)
      : references_of_program(references), pointer_(pointer), destroy_(destroy) {}
  UserObject(const UserObject&) = delete;
  ~UserObject() { destroy_(pointer_); }

  std::atomic<unsigned> references_of_program;

 private:
  void* const pointer_;
  const cudaHostFn_t destroy_;
};

}  // namespace ddpscope::standin
