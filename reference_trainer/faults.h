// Which fault or healthy look-alike this run has, and where it strikes. The rows are in faults.def.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace reference_trainer {

enum class Fault {
#define FAULT(id, name, finding, unit, sentence) id,
#include "faults.def"
};

enum class Twin {
#define TWIN(id, name, of, sentence) id,
#include "faults.def"
};

class Faults {
 public:
  Faults() = default;

  // Throw std::invalid_argument for a name that has no row.
  void select_fault(std::string_view name);
  void select_twin(std::string_view name);
  void strike(int rank, int64_t at, double delay_seconds) {
    rank_ = rank, at_ = at, delay_ = std::chrono::duration<double>(delay_seconds);
  }

  bool on(Fault fault) const { return fault_ == fault; }
  bool on(Twin twin) const { return twin_ == twin; }

  // Whether the one faulty rank is `rank`, and for the second form whether it is the count-th step, epoch or
  // save (from 1) at which it goes wrong.
  bool hits(Fault fault, int rank) const { return on(fault) && rank == rank_; }
  bool hits(Twin twin, int rank) const { return on(twin) && rank == rank_; }
  bool hits(Fault fault, int rank, int64_t count) const { return hits(fault, rank) && count == at_; }
  bool hits(Twin twin, int rank, int64_t count) const { return on(twin) && rank == rank_ && count == at_; }

  // Whether it goes on in another way from the count-th on.
  bool has_begun(Twin twin, int64_t count) const { return on(twin) && count >= at_; }

  int rank() const { return rank_; }  // the faulty one

  // Keeps the caller busy for a while, as a slow file system does: what nothing orders then goes well by
  // luck.
  void come_late(double part = 1) const { std::this_thread::sleep_for(delay_ * part); }

 private:
  std::optional<Fault> fault_;
  std::optional<Twin> twin_;
  int rank_ = 0;
  int64_t at_ = 1;
  std::chrono::duration<double> delay_{};
};

// The table, tab separated (kind, name, finding or fault, unit, sentence) or as JSON.
std::string list_faults(bool json);

}  // namespace reference_trainer
