// Reading and writing streams of stdio.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "injector/files/stream_call.h"

using namespace ddpscope::injector;

DDPSCOPE_EXPORT size_t fread(void* buffer, size_t size, size_t count, FILE* stream) {
  return recorded_stream_read<Call::fread>(
      stream, size, count, [&] { return real<Call::fread>(&fread)(buffer, size, count, stream); });
}

DDPSCOPE_EXPORT size_t fread_unlocked(void* buffer, size_t size, size_t count, FILE* stream) {
  return recorded_stream_read<Call::fread_unlocked>(stream, size, count, [&] {
    return real<Call::fread_unlocked>(&fread_unlocked)(buffer, size, count, stream);
  });
}

extern "C" size_t __fread_chk(void*, size_t, size_t, size_t, FILE*);
extern "C" size_t __fread_unlocked_chk(void*, size_t, size_t, size_t, FILE*);

DDPSCOPE_EXPORT size_t __fread_chk(void* buffer, size_t room, size_t size, size_t count, FILE* stream) {
  return recorded_stream_read<Call::__fread_chk>(stream, size, count, [&] {
    return real<Call::__fread_chk>(&__fread_chk)(buffer, room, size, count, stream);
  });
}

DDPSCOPE_EXPORT size_t __fread_unlocked_chk(void* buffer, size_t room, size_t size, size_t count,
                                            FILE* stream) {
  return recorded_stream_read<Call::__fread_unlocked_chk>(stream, size, count, [&] {
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

extern "C" int _IO_putc(int, FILE*);

DDPSCOPE_EXPORT int fputc_unlocked(int byte, FILE* stream) {
  char data = static_cast<char>(byte);
  return recorded_put<Call::fputc_unlocked>(
      stream, &data, 1, [&] { return real<Call::fputc_unlocked>(&fputc_unlocked)(byte, stream); });
}

DDPSCOPE_EXPORT int putc_unlocked(int byte, FILE* stream) {
  char data = static_cast<char>(byte);
  return recorded_put<Call::putc_unlocked>(
      stream, &data, 1, [&] { return real<Call::putc_unlocked>(&putc_unlocked)(byte, stream); });
}

DDPSCOPE_EXPORT int _IO_putc(int byte, FILE* stream) {
  char data = static_cast<char>(byte);
  return recorded_put<Call::_IO_putc>(stream, &data, 1,
                                      [&] { return real<Call::_IO_putc>(&_IO_putc)(byte, stream); });
}

DDPSCOPE_EXPORT int fflush_unlocked(FILE* stream) {
  return static_cast<int>(recorded_write<Call::fflush_unlocked, Call::socket_fwrite>(
      descriptor_of(stream), kHere, nullptr, 0,
      [&] { return real<Call::fflush_unlocked>(&fflush_unlocked)(stream); }));
}

DDPSCOPE_EXPORT int fflush(FILE* stream) {
  return static_cast<int>(recorded_write<Call::fflush, Call::socket_fwrite>(
      descriptor_of(stream), kHere, nullptr, 0, [&] { return real<Call::fflush>(&fflush)(stream); }));
}
