// fopen, freopen, fdopen, fclose, tmpfile, and the positions of streams.
#include <stdio.h>

#include "injector/files/stream_call.h"

using namespace ddpscope::injector;

DDPSCOPE_EXPORT FILE* fopen(const char* path, const char* mode) {
  return recorded_stream_open<Call::fopen>(path, mode, [&] { return real<Call::fopen>(&fopen)(path, mode); });
}

DDPSCOPE_EXPORT FILE* fopen64(const char* path, const char* mode) {
  return recorded_stream_open<Call::fopen64>(path, mode,
                                             [&] { return real<Call::fopen64>(&fopen64)(path, mode); });
}

DDPSCOPE_EXPORT FILE* freopen(const char* path, const char* mode, FILE* stream) {
  return recorded_stream_reopen<Call::freopen>(
      path, mode, stream, [&] { return real<Call::freopen>(&freopen)(path, mode, stream); });
}

DDPSCOPE_EXPORT FILE* freopen64(const char* path, const char* mode, FILE* stream) {
  return recorded_stream_reopen<Call::freopen64>(
      path, mode, stream, [&] { return real<Call::freopen64>(&freopen64)(path, mode, stream); });
}

DDPSCOPE_EXPORT FILE* fdopen(int fd, const char* mode) {
  FILE* stream = real<Call::fdopen>(&fdopen)(fd, mode);
  if (stream) note_stream(Call::fdopen, fd, mode);
  return stream;
}

DDPSCOPE_EXPORT FILE* tmpfile() {
  return recorded_stream_open<Call::tmpfile>("/tmp/", "w+", [] { return real<Call::tmpfile>(&tmpfile)(); });
}

DDPSCOPE_EXPORT FILE* tmpfile64() {
  return recorded_stream_open<Call::tmpfile64>("/tmp/", "w+",
                                               [] { return real<Call::tmpfile64>(&tmpfile64)(); });
}

// The descriptor is asked for before the stream is gone.
DDPSCOPE_EXPORT int fclose(FILE* stream) {
  return recorded_close<Call::fclose>(descriptor_of(stream),
                                      [&] { return real<Call::fclose>(&fclose)(stream); });
}

DDPSCOPE_EXPORT int fseek(FILE* stream, long offset, int whence) {
  return recorded_stream_seek<Call::fseek>(stream, offset, whence,
                                           [&] { return real<Call::fseek>(&fseek)(stream, offset, whence); });
}

DDPSCOPE_EXPORT int fseeko(FILE* stream, off_t offset, int whence) {
  return recorded_stream_seek<Call::fseeko>(
      stream, offset, whence, [&] { return real<Call::fseeko>(&fseeko)(stream, offset, whence); });
}

DDPSCOPE_EXPORT int fseeko64(FILE* stream, off64_t offset, int whence) {
  return recorded_stream_seek<Call::fseeko64>(
      stream, offset, whence, [&] { return real<Call::fseeko64>(&fseeko64)(stream, offset, whence); });
}

DDPSCOPE_EXPORT int fsetpos(FILE* stream, const fpos_t* place) {
  return recorded_stream_seek<Call::fsetpos>(stream, 0, SEEK_SET,
                                             [&] { return real<Call::fsetpos>(&fsetpos)(stream, place); });
}

DDPSCOPE_EXPORT int fsetpos64(FILE* stream, const fpos64_t* place) {
  return recorded_stream_seek<Call::fsetpos64>(
      stream, 0, SEEK_SET, [&] { return real<Call::fsetpos64>(&fsetpos64)(stream, place); });
}

DDPSCOPE_EXPORT void rewind(FILE* stream) {
  recorded_stream_seek<Call::rewind>(stream, 0, SEEK_SET, [&] {
    real<Call::rewind> (&rewind)(stream);
    return 0;
  });
}
