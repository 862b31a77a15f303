// A process may hold several ranks and drive a device for each: what of its work belongs into which rank's
// row.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "collector/analysis/analyze.h"
#include "collector/merged/job_rows.h"
#include "trace/calls.h"
#include "trace/format.h"

namespace ddpscope::merged {

class RankShares {
 public:
  RankShares(const analysis::Matched& facts, const JobRows& rows, std::uint32_t process);

  // Of the rank whose communicator or else whose device the call is about; the process's own row if it is
  // about neither, or if several ranks use that device.
  std::uint32_t row_of(const trace::Record& record, const trace::CallInfo& info) const;
  std::uint32_t row_of_device(std::uint32_t device) const;
  std::uint32_t row_of_communicator(std::uint32_t number) const;  // in the process
  std::string device_of(std::uint32_t row) const;                 // "cuda:1"; empty: not known

 private:
  std::uint32_t own_row_;
  bool several_ = false;
  std::map<std::uint32_t, std::uint32_t> rows_by_communicator_, rows_by_device_;
};

}  // namespace ddpscope::merged
