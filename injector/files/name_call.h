// Calls that change names: rename, link, unlink, mkdir, truncate by name, ...
#pragma once
#include <fcntl.h>

#include <type_traits>

#include "injector/core/hook.h"

namespace ddpscope::injector {

// One name that a call takes.
struct NameArgument {
  int directory;         // AT_FDCWD, or what a relative path begins at
  const char* path;      // nullptr: no second name
  bool is_text = false;  // what a symbolic link will say: kept as it is given
};

enum class LookBefore : bool {
  kNo,
  kYes
};  // whether the record says what the name meant until now (a system call)

struct NameRequest {
  Call call;
  NameArgument name;
  NameArgument target;
  LookBefore look;
  std::uint64_t size;  // 0 unless the call gives one
};

trace::OpenRecord begin_name(const NameRequest& request);
void end_name(const trace::OpenRecord& record, bool succeeded);

// For calls that choose the name themselves (mkdtemp).
void name_made(const trace::OpenRecord& record, const char* path);

// Which one it is (a system call): somebody may find it by another name.
void note_new_folder(const trace::OpenRecord& record, NameArgument name);

template <Call call, class RealCall>
inline int recorded_name(NameArgument name, NameArgument target, LookBefore look, RealCall real_call,
                         std::uint64_t size = 0) {
  static_assert(std::is_same_v<PayloadOf<call>, trace::payload::FileName>);
  trace::OpenRecord record = begin_name({call, name, target, look, size});
  int result = real_call();
  end_name(record, result == 0);
  return result;
}

constexpr NameArgument kNoName{AT_FDCWD, nullptr};

template <Call call, class RealCall>
inline int recorded_new_folder(NameArgument name, RealCall real_call) {
  static_assert(std::is_same_v<PayloadOf<call>, trace::payload::FileName>);
  trace::OpenRecord record = begin_name({call, name, kNoName, LookBefore::kNo, 0});
  int result = real_call();
  if (result == 0) note_new_folder(record, name);
  end_name(record, result == 0);
  return result;
}

}  // namespace ddpscope::injector
