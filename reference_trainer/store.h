// Hands small values, NCCL's unique ids first of all, from rank 0 to all other ranks over TCP.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace reference_trainer {

// Set for rank 0 by the launcher: the number of a descriptor that already listens on MASTER_PORT.
inline constexpr const char* kListenerVariable = "REFERENCE_TRAINER_LISTENER";

class Listener {
 public:
  // Port 0: any free one. Throws std::system_error.
  Listener(const std::string& address, uint16_t port);
  // Takes over a descriptor that listens already.
  explicit Listener(int descriptor) : descriptor_(descriptor) {}
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  Listener(Listener&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  ~Listener();

  uint16_t port() const;
  // A duplicate of the descriptor that stays open over exec.
  int hand_over() const;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

// This process's place in the job.
struct Place {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 1;  // ranks on this host
  std::string master_address = "127.0.0.1";
  uint16_t master_port = 29500;
};

// From RANK (unless `rank` is one), WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT;
// one process alone without them. Throws std::invalid_argument.
Place place_from_environment(int rank = -1);

// Rank 0 listens as long as its store lives; the others connect once for each value.
class Store {
 public:
  Store(const Place& place, std::chrono::milliseconds timeout);

  // Rank 0 serves `value` to its peers, which wait for it and overwrite theirs. Every rank has to have got a
  // value, and the others to know it, before the next is shared. Throws std::runtime_error when not everybody
  // has come in time.
  void share(std::span<char> value);

 private:
  const Place place_;
  const std::chrono::milliseconds timeout_;
  std::optional<Listener> listener_;
};

}  // namespace reference_trainer
