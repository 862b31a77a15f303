// Reading and writing streams of stdio.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "injector/files/stream_call.h"

using namespace ddpscope::injector;

DDPSCOPE_EXPORT size_t fread(void* buffer, size_t size, size_t count, FILE* stream) {
  return recorded_stream_read<Call::fread>(
      stream, size, [&] { return real<Call::fread>(&fread)(buffer, size, count, stream); });
}

DDPSCOPE_EXPORT size_t fread_unlocked(void* buffer, size_t size, size_t count, FILE* stream) {
  return recorded_stream_read<Call::fread_unlocked>(
      stream, size, [&] { return real<Call::fread_unlocked>(&fread_unlocked)(buffer, size, count, stream); });
}

extern "C" size_t __fread_chk(void*, size_t, size_t, size_t, FILE*);
extern "C" size_t __fread_unlocked_chk(void*, size_t, size_t, size_t, FILE*);

DDPSCOPE_EXPORT size_t __fread_chk(void* buffer, size_t room, size_t size, size_t count, FILE* stream) {
  return recorded_stream_read<Call::__fread_chk>(
      stream, size, [&] { return real<Call::__fread_chk>(&__fread_chk)(buffer, room, size, count, stream); });
}

DDPSCOPE_EXPORT size_t __fread_unlocked_chk(void* buffer, size_t room, size_t size, size_t count,
                                            FILE* stream) {
  return recorded_stream_read<Call::__fread_unlocked_chk>(stream, size, [&] {
    return real<Call::__fread_unlocked_chk>(&__fread_unlocked_chk)(buffer, room, size, count, stream);
  });
}

DDPSCOPE_EXPORT size_t fwrite(const void* data, size_t size, size_t count, FILE* stream) {
  return recorded_stream_write<Call::fwrite>(
      stream, data, size, count, [&] { return real<Call::fwrite>(&fwrite)(data, size, count, stream); });
}

DDPSCOPE_EXPORT size_t fwrite_unlocked(const void* data, size_t size, size_t count, FILE* stream) {
  return recorded_stream_write<Call::fwrite_unlocked>(stream, data, size, count, [&] {
    return real<Call::fwrite_unlocked>(&fwrite_unlocked)(data, size, count, stream);
  });
}

DDPSCOPE_EXPORT int fputs(const char* text, FILE* stream) {
  return recorded_put<Call::fputs>(stream, text, strlen(text),
                                   [&] { return real<Call::fputs>(&fputs)(text, stream); });
}

DDPSCOPE_EXPORT int fputs_unlocked(const char* text, FILE* stream) {
  return recorded_put<Call::fputs_unlocked>(
      stream, text, strlen(text), [&] { return real<Call::fputs_unlocked>(&fputs_unlocked)(text, stream); });
}

DDPSCOPE_EXPORT int fputc(int byte, FILE* stream) {
  char data = static_cast<char>(byte);
  return recorded_put<Call::fputc>(stream, &data, 1, [&] { return real<Call::fputc>(&fputc)(byte, stream); });
}

DDPSCOPE_EXPORT int putc(int byte, FILE* stream) {
  char data = static_cast<char>(byte);
  return recorded_put<Call::putc>(stream, &data, 1, [&] { return real<Call::putc>(&putc)(byte, stream); });
}

DDPSCOPE_EXPORT int fflush(FILE* stream) {
  return static_cast<int>(recorded_write<Call::fflush, Call::socket_fwrite>(
      descriptor_of(stream), kHere, nullptr, 0, [&] { return real<Call::fflush>(&fflush)(stream); }));
}

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
