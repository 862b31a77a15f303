// Text that goes through libc's formatting, and lines of text that come back.
#include <stdarg.h>
#include <stdio.h>

#include "injector/files/stream_call.h"

using namespace ddpscope::injector;

// Printing: the variadic ones hand their arguments on as a list.

DDPSCOPE_EXPORT int vfprintf(FILE* stream, const char* format, va_list arguments) {
  return recorded_print<Call::vfprintf>(
      stream, [&] { return real<Call::vfprintf>(&vfprintf)(stream, format, arguments); });
}

DDPSCOPE_EXPORT int fprintf(FILE* stream, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int printed = recorded_print<Call::fprintf>(
      stream, [&] { return real<Call::vfprintf>(&vfprintf)(stream, format, arguments); });
  va_end(arguments);
  return printed;
}

extern "C" int __vfprintf_chk(FILE*, int, const char*, va_list);
extern "C" int __fprintf_chk(FILE*, int, const char*, ...);

DDPSCOPE_EXPORT int __vfprintf_chk(FILE* stream, int check, const char* format, va_list arguments) {
  return recorded_print<Call::__vfprintf_chk>(
      stream, [&] { return real<Call::__vfprintf_chk>(&__vfprintf_chk)(stream, check, format, arguments); });
}

DDPSCOPE_EXPORT int __fprintf_chk(FILE* stream, int check, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int printed = recorded_print<Call::__fprintf_chk>(
      stream, [&] { return real<Call::__vfprintf_chk>(&__vfprintf_chk)(stream, check, format, arguments); });
  va_end(arguments);
  return printed;
}

// To a descriptor.

DDPSCOPE_EXPORT int vdprintf(int fd, const char* format, va_list arguments) {
  return recorded_print_to<Call::vdprintf>(
      fd, [&] { return real<Call::vdprintf>(&vdprintf)(fd, format, arguments); });
}

DDPSCOPE_EXPORT int dprintf(int fd, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int printed = recorded_print_to<Call::dprintf>(
      fd, [&] { return real<Call::vdprintf>(&vdprintf)(fd, format, arguments); });
  va_end(arguments);
  return printed;
}

extern "C" int __vdprintf_chk(int, int, const char*, va_list);
extern "C" int __dprintf_chk(int, int, const char*, ...);

DDPSCOPE_EXPORT int __vdprintf_chk(int fd, int check, const char* format, va_list arguments) {
  return recorded_print_to<Call::__vdprintf_chk>(
      fd, [&] { return real<Call::__vdprintf_chk>(&__vdprintf_chk)(fd, check, format, arguments); });
}

DDPSCOPE_EXPORT int __dprintf_chk(int fd, int check, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int printed = recorded_print_to<Call::__dprintf_chk>(
      fd, [&] { return real<Call::__vdprintf_chk>(&__vdprintf_chk)(fd, check, format, arguments); });
  va_end(arguments);
  return printed;
}

// Lines of text.

DDPSCOPE_EXPORT char* fgets(char* line, int room, FILE* stream) {
  return recorded_line<Call::fgets>(stream, [&] { return real<Call::fgets>(&fgets)(line, room, stream); });
}

DDPSCOPE_EXPORT char* fgets_unlocked(char* line, int room, FILE* stream) {
  return recorded_line<Call::fgets_unlocked>(
      stream, [&] { return real<Call::fgets_unlocked>(&fgets_unlocked)(line, room, stream); });
}

extern "C" char* __fgets_chk(char*, size_t, int, FILE*);

DDPSCOPE_EXPORT char* __fgets_chk(char* line, size_t size, int room, FILE* stream) {
  return recorded_line<Call::__fgets_chk>(
      stream, [&] { return real<Call::__fgets_chk>(&__fgets_chk)(line, size, room, stream); });
}

DDPSCOPE_EXPORT ssize_t getline(char** line, size_t* room, FILE* stream) {
  return recorded_read<Call::getline, Call::socket_fread>(
      descriptor_of(stream), kHere, [&] { return real<Call::getline>(&getline)(line, room, stream); });
}

DDPSCOPE_EXPORT ssize_t getdelim(char** line, size_t* room, int end, FILE* stream) {
  return recorded_read<Call::getdelim, Call::socket_fread>(
      descriptor_of(stream), kHere, [&] { return real<Call::getdelim>(&getdelim)(line, room, end, stream); });
}

DDPSCOPE_EXPORT ssize_t __getdelim(char** line, size_t* room, int end, FILE* stream) {
  return recorded_read<Call::__getdelim, Call::socket_fread>(descriptor_of(stream), kHere, [&] {
    return real<Call::__getdelim>(&__getdelim)(line, room, end, stream);
  });
}
