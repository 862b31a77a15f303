// A picture into a file, compressed by zlib at its best: stb's own compressor makes them three times as
// large.
#include <zlib.h>

#include <cstdlib>
#include <cstring>

#include "collector/output/new_file.h"
#include "viewer/offscreen/gl_context.h"

namespace {

// In stb's calling convention: malloc'ed result, its size in *out_len.
unsigned char* deflated(unsigned char* data, int data_len, int* out_len, int) {
  uLongf size = compressBound(static_cast<uLong>(data_len));
  auto* out = static_cast<unsigned char*>(std::malloc(size));
  if (!out || compress2(out, &size, data, static_cast<uLong>(data_len), Z_BEST_COMPRESSION) != Z_OK) {
    std::free(out);
    return nullptr;
  }
  *out_len = static_cast<int>(size);
  return out;
}

}  // namespace

#define STBIW_ZLIB_COMPRESS deflated
#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include <stb_image_write.h>
#pragma GCC diagnostic pop

namespace ddpscope::viewer {

Result<bool> write_png(const Image& image, const std::string& path) {
  // Without transparency: what was drawn covers all of it.
  std::vector<std::uint8_t> rgb;
  rgb.reserve(image.rgba.size() / 4 * 3);
  for (std::size_t i = 0; i + 3 < image.rgba.size(); i += 4)
    rgb.insert(rgb.end(), image.rgba.begin() + i, image.rgba.begin() + i + 3);
  std::vector<std::uint8_t> png;
  auto append = [](void* to, void* data, int size) {
    auto* bytes = static_cast<std::uint8_t*>(data);
    static_cast<std::vector<std::uint8_t>*>(to)->insert(static_cast<std::vector<std::uint8_t>*>(to)->end(),
                                                        bytes, bytes + size);
  };
  if (!stbi_write_png_to_func(append, &png, image.width, image.height, 3, rgb.data(), image.width * 3))
    return Error{"the picture cannot be compressed", path, "free some memory, or ask for a smaller --size"};
  int error = output::write_file(path, {reinterpret_cast<const char*>(png.data()), png.size()});
  if (!error) return true;
  return Error{std::string("the picture cannot be written: ") + std::strerror(error), path,
               "name a file in a folder that you may write to"};
}

}  // namespace ddpscope::viewer
