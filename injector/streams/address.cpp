// Text of socket addresses, made without libc.
#include "injector/streams/address.h"

#include <netinet/in.h>
#include <sys/un.h>

#include <cstring>

#include "trace/write/raw_syscall.h"

namespace ddpscope::injector {
namespace {

using trace::as_argument;
using trace::raw_syscall;

// Appends to a fixed buffer; what does not fit is left out.
class Text {
 public:
  explicit Text(char (&out)[kAddressText]) : out_(out) {}
  void add(char c) {
    if (size_ < kAddressText - 1) out_[size_++] = c;
    out_[size_] = 0;
  }
  void add(const char* text, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) add(text[i]);
  }
  void add_number(unsigned number, unsigned base) {
    char digits[12];
    unsigned count = 0;
    do digits[count++] = "0123456789abcdef"[number % base];
    while (number /= base);
    while (count) add(digits[--count]);
  }
  std::size_t size() const { return size_; }

 private:
  char* out_;
  std::size_t size_ = 0;
};

void add_port(Text& text, in_port_t port) {
  text.add(':');
  text.add_number(static_cast<unsigned>(port >> 8 | (port & 0xFF) << 8), 10);  // network byte order
}

void add_ipv4(Text& text, const unsigned char* bytes) {
  for (int i = 0; i < 4; ++i) {
    if (i) text.add('.');
    text.add_number(bytes[i], 10);
  }
}

void add_ipv6(Text& text, const unsigned char* bytes) {
  constexpr unsigned char kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  if (std::memcmp(bytes, kMapped, sizeof(kMapped)) == 0) {
    add_ipv4(text, bytes + sizeof(kMapped));
    return;
  }
  text.add('[');
  for (int i = 0; i < 16; i += 2) {
    if (i) text.add(':');
    text.add_number(static_cast<unsigned>(bytes[i] << 8 | bytes[i + 1]), 16);
  }
  text.add(']');
}

void add_unix(Text& text, const sockaddr_un& address, socklen_t size) {
  constexpr socklen_t kBeforePath = offsetof(sockaddr_un, sun_path);
  if (size <= kBeforePath) return;  // unnamed
  std::size_t room = size - kBeforePath;
  text.add("unix:", 5);
  if (address.sun_path[0]) {
    text.add(address.sun_path, strnlen(address.sun_path, room));
  } else {
    text.add('@');
    text.add(address.sun_path + 1, room - 1);
  }
}

}  // namespace

std::size_t write_address(const sockaddr* address, socklen_t size, char (&out)[kAddressText]) {
  Text text(out);
  if (!address || size < sizeof(sa_family_t)) return 0;
  if (address->sa_family == AF_INET && size >= sizeof(sockaddr_in)) {
    const auto& in = *reinterpret_cast<const sockaddr_in*>(address);
    add_ipv4(text, reinterpret_cast<const unsigned char*>(&in.sin_addr));
    add_port(text, in.sin_port);
  }
  if (address->sa_family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    const auto& in = *reinterpret_cast<const sockaddr_in6*>(address);
    add_ipv6(text, reinterpret_cast<const unsigned char*>(&in.sin6_addr));
    add_port(text, in.sin6_port);
  }
  if (address->sa_family == AF_UNIX) add_unix(text, *reinterpret_cast<const sockaddr_un*>(address), size);
  return text.size();
}

std::size_t write_address_of(int fd, End end, char (&out)[kAddressText]) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  long call = end == End::kLocal ? SYS_getsockname : SYS_getpeername;
  if (raw_syscall(call, fd, as_argument(&address), as_argument(&size)) != 0) return 0;
  return write_address(reinterpret_cast<const sockaddr*>(&address), size, out);
}

}  // namespace ddpscope::injector
