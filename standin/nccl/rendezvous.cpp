// The root serves one communicator: collects every rank's Member, sends all of them to each, and is gone.
#include "standin/nccl/rendezvous.h"

#include <sys/random.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string_view>

#include "standin/nccl/cuda.h"
#include "standin/nccl/failure.h"
#include "standin/nccl/log.h"

namespace ddpscope::standin::nccl {
namespace {

constexpr std::uint64_t kMagic = 0x3130'6e69'646e'6174;
constexpr auto kGreetingTime = std::chrono::seconds(5);

struct RootId {
  std::uint64_t magic;
  Nonce nonce;
  Address address;
};
static_assert(sizeof(RootId) <= NCCL_UNIQUE_ID_BYTES);

struct JoinRequest {
  Nonce nonce;
  Nonce process;
  std::int32_t rank;
  std::int32_t size;
  Member self;
};

/// Tells this process from all others, also from those of other hosts and containers.
const Nonce& this_process() {
  static const Nonce nonce = make_nonce();
  return nonce;
}

template <typename T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

/// Who has come so far. Ranks that disagree keep waiting, as with NCCL: the root only says what is wrong.
struct Gathering {
  std::vector<Member> members;
  std::vector<Descriptor> sockets;
  std::vector<bool> of_this_process;
  int present = 0;

  bool complete() const { return present > 0 && present == static_cast<int>(members.size()); }

  void admit(const JoinRequest& request, Descriptor socket) {
    if (members.empty() && request.size > 0) {
      members.resize(static_cast<std::size_t>(request.size));
      sockets.resize(members.size());
      of_this_process.resize(members.size());
    }
    const auto rank = static_cast<std::size_t>(request.rank);
    if (static_cast<std::size_t>(request.size) != members.size() || rank >= members.size()) {
      refuse("rank " + std::to_string(request.rank) + " expects " + std::to_string(request.size) +
                 " ranks, others " + std::to_string(members.size()),
             std::move(socket));
    } else if (sockets[rank].fd() >= 0) {
      refuse("rank " + std::to_string(rank) + " of " + std::to_string(members.size()) +
                 " has already checked in",
             std::move(socket));
    } else {
      members[rank] = request.self;
      sockets[rank] = std::move(socket);
      of_this_process[rank] = request.process == this_process();
      ++present;
    }
  }

 private:
  void refuse(const std::string& why, Descriptor socket) {
    warn("Root: " + why);
    refused_.push_back(std::move(socket));
  }
  std::vector<Descriptor> refused_;
};

void send_list(const Gathering& gathering, std::size_t rank) {
  try {
    send_all(gathering.sockets[rank], std::as_bytes(std::span(gathering.members)), Release());
  } catch (const Failure&) {
    // That rank died; the others notice when they connect to it.
  }
}

void serve(const Descriptor& listener, const Nonce& nonce) {
  const Release never;
  Gathering gathering;
  while (!gathering.complete()) {
    Descriptor socket = accept_from(listener, never);
    JoinRequest request;
    try {
      receive_all(socket, bytes_of(request), never, Clock::now() + kGreetingTime);
    } catch (const Failure&) {
      continue;  // a port scanner, or a rank that died
    }
    if (request.nonce == nonce) gathering.admit(request, std::move(socket));
  }
  // The ranks of this process last: having got the list they may fail and exit, and the root with them.
  for (const bool of_this_process : {false, true}) {
    for (std::size_t rank = 0; rank < gathering.members.size(); ++rank) {
      if (gathering.of_this_process[rank] == of_this_process) send_list(gathering, rank);
    }
  }
}

std::uint64_t hash(std::string_view text) {  // FNV-1a: equal on all hosts, unlike std::hash
  std::uint64_t value = 0xcbf2'9ce4'8422'2325;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100'0000'01b3;
  return value;
}

std::uint64_t host_hash() {
  if (const char* id = std::getenv("NCCL_HOSTID")) return hash(id);
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return hash(std::string(name) + boot);
}

bool collide(const Member& a, const Member& b) {
  if (a.may_share_device && b.may_share_device) return false;
  return a.host == b.host && a.device_uuid == b.device_uuid;
}

}  // namespace

Nonce make_nonce() {
  Nonce nonce;
  if (getrandom(nonce.data(), nonce.size(), 0) != static_cast<ssize_t>(nonce.size())) {
    throw Failure(ncclSystemError, "no random numbers");
  }
  return nonce;
}

ncclUniqueId make_unique_id() {
  RootId root{kMagic, make_nonce(), host_address()};
  auto listener = std::make_shared<Descriptor>(listen_at(root.address));
  start_thread([listener, nonce = root.nonce] {
    try {
      serve(*listener, nonce);
    } catch (const Failure& failure) {
      warn(std::string("Root: ") + failure.what());
    }
  });
  ncclUniqueId id{};
  std::memcpy(id.internal, &root, sizeof root);
  return id;
}

Seat join(const ncclUniqueId& id, int rank, int size, Member self, const Release& release) {
  RootId root;
  std::memcpy(&root, id.internal, sizeof root);
  if (root.magic != kMagic)
    throw Failure(ncclInvalidArgument, "the unique id was not made by ncclGetUniqueId");
  const Descriptor socket = connect_to(root.address, release);
  self.address = local_address(socket);
  Seat seat{rank, std::vector<Member>(static_cast<std::size_t>(size)), listen_at(self.address)};
  JoinRequest request{root.nonce, this_process(), rank, size, self};
  send_all(socket, bytes_of(request), release);
  receive_all(socket, std::as_writable_bytes(std::span(seat.members)), release);
  return seat;
}

void refuse_shared_devices(const Seat& seat) {
  const auto& members = seat.members;
  const auto self = static_cast<std::size_t>(seat.rank);
  std::string others;
  for (std::size_t high = 0; high < members.size(); ++high) {
    for (std::size_t low = 0; low < high; ++low) {
      if (!collide(members[low], members[high])) continue;
      const std::string ranks = "rank " + std::to_string(low) + " and rank " + std::to_string(high);
      if (self != low && self != high) {
        others = ranks;
        continue;
      }
      throw Failure(ncclInvalidUsage, "Duplicate GPU detected : " + ranks + " both on CUDA device " +
                                          std::to_string(members[self].device));
    }
  }
  if (!others.empty()) throw Failure(ncclRemoteError, others + " were refused: they share a device");
}

Member describe_self(int device) {
  Member self{};
  cudaDeviceProp properties;
  check_cuda(cudaGetDeviceProperties(&properties, device));
  std::memcpy(self.device_uuid.data(), &properties.uuid, self.device_uuid.size());
  self.nonce = make_nonce();
  self.host = host_hash();
  self.device = device;
  const char* sharing = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  self.may_share_device = sharing && std::string_view(sharing) == "1";
  return self;
}

}  // namespace ddpscope::standin::nccl
