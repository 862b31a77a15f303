// One question to the kernel over netlink.
#include "injector/streams/unix_peer.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>

#include <atomic>

#include "trace/write/raw_syscall.h"

namespace ddpscope::injector {
namespace {

using trace::as_argument;
using trace::raw_syscall;

struct Question {
  nlmsghdr header;
  unix_diag_req request;
};

// Asked no more once the question was refused: where the kernel lacks a module for it, each would start a
// program that looks for one.
std::atomic<bool> refused;

bool is_answer(const char* answer, long size) {
  const auto* header = reinterpret_cast<const nlmsghdr*>(answer);
  return size >= 0 && NLMSG_OK(header, size) && header->nlmsg_type == SOCK_DIAG_BY_FAMILY;
}

std::uint64_t peer_in(const char* answer, long size) {
  if (!is_answer(answer, size)) return 0;
  const auto* header = reinterpret_cast<const nlmsghdr*>(answer);
  const auto* message = static_cast<const unix_diag_msg*>(NLMSG_DATA(header));
  const auto* attribute = reinterpret_cast<const rtattr*>(message + 1);
  auto left = static_cast<int>(header->nlmsg_len - NLMSG_LENGTH(sizeof(*message)));
  for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left))
    if (attribute->rta_type == UNIX_DIAG_PEER && RTA_PAYLOAD(attribute) >= sizeof(std::uint32_t))
      return *static_cast<const std::uint32_t*>(RTA_DATA(attribute));
  return 0;
}

}  // namespace

std::uint64_t unix_peer_of(std::uint64_t inode) {
  if (refused.load(std::memory_order_relaxed)) return 0;
  long fd = raw_syscall(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (fd < 0) {
    if (fd != -EMFILE && fd != -ENFILE) refused.store(true, std::memory_order_relaxed);
    return 0;
  }
  Question question{};
  question.header.nlmsg_len = sizeof(question);
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  question.request.sdiag_family = AF_UNIX;
  question.request.udiag_states = ~0u;
  question.request.udiag_ino = static_cast<std::uint32_t>(inode);
  question.request.udiag_show = UDIAG_SHOW_PEER;
  question.request.udiag_cookie[0] = question.request.udiag_cookie[1] = ~0u;
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  alignas(nlmsghdr) char answer[512];
  long sent = raw_syscall(SYS_sendto, fd, as_argument(&question), sizeof(question), 0, as_argument(&kernel),
                          sizeof(kernel));
  long got = sent < 0
                 ? sent
                 : raw_syscall(SYS_recvfrom, fd, as_argument(answer), sizeof(answer), MSG_DONTWAIT, 0, 0);
  raw_syscall(SYS_close, fd);
  if (!is_answer(answer, got)) refused.store(true, std::memory_order_relaxed);
  return peer_in(answer, got);
}

}  // namespace ddpscope::injector
