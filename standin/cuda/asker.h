// Who called a function of a stand-in, for messages.
#pragma once

#include <dlfcn.h>
#include <unwind.h>

#include <cstring>
#include <string>

namespace ddpscope::standin {

namespace detail {

struct AskerSearch {
  const char* function;
  const void* own_object;
  const char* found = nullptr;
  bool outside = false;  // our own frames are behind
};

// A library with a function of that name only passes the call on: a tracer's wrapper.
inline bool wraps(const Dl_info& object, const char* function) {
  void* library = dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return false;
  void* symbol = dlsym(library, function);
  dlclose(library);
  Dl_info owner{};
  return symbol && dladdr(symbol, &owner) != 0 && owner.dli_fbase == object.dli_fbase;
}

inline _Unwind_Reason_Code look_at_frame(_Unwind_Context* frame, void* data) {
  auto& search = *static_cast<AskerSearch*>(data);
  Dl_info object{};
  if (dladdr(reinterpret_cast<void*>(_Unwind_GetIP(frame)), &object) == 0 || !object.dli_fname)
    return search.outside ? _URC_END_OF_STACK : _URC_NO_REASON;
  if (object.dli_fbase == search.own_object) return _URC_NO_REASON;
  search.outside = true;
  if (wraps(object, search.function)) return _URC_NO_REASON;
  search.found = object.dli_fname;
  return _URC_END_OF_STACK;
}

}  // namespace detail

/// The object whose code has called `function` of this library, past wrappers that tools have put between.
inline std::string asker_of(const char* function) {
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&detail::look_at_frame), &self) == 0) return "somebody";
  detail::AskerSearch search{function, self.dli_fbase};
  _Unwind_Backtrace(detail::look_at_frame, &search);
  return search.found ? search.found : "code outside any library";
}

}  // namespace ddpscope::standin
