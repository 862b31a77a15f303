// One record as a line of text, by the schema that its own file carries.
#pragma once
#include <functional>
#include <string>

#include "collector/model/job.h"

namespace ddpscope::reports {

// Prints the records of one file. Calls and fields that this version does not know are printed as well as the
// file's schema describes them.
class RecordPrinter {
 public:
  // `time_ns` turns ticks into ns since the job's start; without it they are printed as they are.
  explicit RecordPrinter(const trace::TraceFile& file,
                         std::function<std::int64_t(std::uint64_t)> time_ns = nullptr);

  std::string call(const trace::Record& record) const;
  std::string fields(
      const trace::Record& record) const;  // "name=value name=value", strings resolved and escaped
  // "kernel name=... device=0 stream=7"
  std::string device_work(const trace::DeviceWork& work) const;
  std::string stack(std::uint32_t id,
                    const char* separator) const;  // innermost frame first, empty without one

 private:
  struct Field {
    std::string_view name;
    std::string_view type;
    std::string_view format;
    std::size_t offset;
    std::size_t bytes;
  };
  struct CallRow {
    std::string_view symbol;
    const std::vector<Field>* fields = nullptr;
  };
  void read_schema(std::string_view schema);
  void read_payload(std::string_view line);
  void read_call(std::string_view line);
  std::string value(const Field& field, const trace::Record& record) const;

  const trace::TraceFile& file_;
  std::function<std::int64_t(std::uint64_t)> time_ns_;
  std::map<std::string_view, std::vector<Field>> payloads_;
  std::map<std::uint16_t, CallRow> calls_;
};

}  // namespace ddpscope::reports
