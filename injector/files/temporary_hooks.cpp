// The mkstemp family: the name is known after the call.
#include <stdlib.h>

#include "injector/files/open_call.h"

namespace ddpscope::injector {
namespace {

constexpr int kTemporary = O_RDWR | O_CREAT | O_EXCL;

template <Call call, class RealOpen>
int recorded_temporary(char* pattern, int flags, RealOpen real_open) {
  static_assert(std::is_same_v<PayloadOf<call>, trace::payload::FileOpen>);
  OpenInProgress open = begin_open({call, AT_FDCWD, pattern, kTemporary | flags, 0600});
  int fd = real_open();
  if (fd >= 0) name_open(open, pattern);
  end_open(open, fd);
  return fd;
}

}  // namespace
}  // namespace ddpscope::injector

using namespace ddpscope::injector;

DDPSCOPE_EXPORT int mkstemp(char* pattern) {
  return recorded_temporary<Call::mkstemp>(pattern, 0,
                                           [&] { return real<Call::mkstemp>(&mkstemp)(pattern); });
}

DDPSCOPE_EXPORT int mkstemp64(char* pattern) {
  return recorded_temporary<Call::mkstemp64>(pattern, 0,
                                             [&] { return real<Call::mkstemp64>(&mkstemp64)(pattern); });
}

DDPSCOPE_EXPORT int mkostemp(char* pattern, int flags) {
  return recorded_temporary<Call::mkostemp>(pattern, flags,
                                            [&] { return real<Call::mkostemp>(&mkostemp)(pattern, flags); });
}

DDPSCOPE_EXPORT int mkostemp64(char* pattern, int flags) {
  return recorded_temporary<Call::mkostemp64>(
      pattern, flags, [&] { return real<Call::mkostemp64>(&mkostemp64)(pattern, flags); });
}

DDPSCOPE_EXPORT int mkstemps(char* pattern, int suffix) {
  return recorded_temporary<Call::mkstemps>(pattern, 0,
                                            [&] { return real<Call::mkstemps>(&mkstemps)(pattern, suffix); });
}

DDPSCOPE_EXPORT int mkstemps64(char* pattern, int suffix) {
  return recorded_temporary<Call::mkstemps64>(
      pattern, 0, [&] { return real<Call::mkstemps64>(&mkstemps64)(pattern, suffix); });
}

DDPSCOPE_EXPORT int mkostemps(char* pattern, int suffix, int flags) {
  return recorded_temporary<Call::mkostemps>(
      pattern, flags, [&] { return real<Call::mkostemps>(&mkostemps)(pattern, suffix, flags); });
}

DDPSCOPE_EXPORT int mkostemps64(char* pattern, int suffix, int flags) {
  return recorded_temporary<Call::mkostemps64>(
      pattern, flags, [&] { return real<Call::mkostemps64>(&mkostemps64)(pattern, suffix, flags); });
}
