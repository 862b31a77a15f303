// One record as a line of text, by the schema that its own file carries.
#pragma once
#include <functional>
#include <string>

#include "collector/model/job.h"

namespace ddpscope::reports {

using Fields = std::vector<std::pair<std::string, std::string>>;  // name and value
std::string to_text(const Fields& fields);                        // "name=value name=value"

// What the records of one process are printed with.
class RecordTexts {
 public:
  virtual ~RecordTexts() = default;
  virtual std::string_view schema() const = 0;
  virtual std::string_view string(std::uint32_t id) const = 0;  // empty for what is missing
};

class FileTexts : public RecordTexts {
 public:
  explicit FileTexts(const trace::TraceFile& file) : file_(file) {}
  std::string_view schema() const override { return file_.schema(); }
  std::string_view string(std::uint32_t id) const override { return file_.string(id); }

 private:
  const trace::TraceFile& file_;
};

// Innermost frame first, empty without one: "FILE:LINE FUNCTION", native "MODULE+0xOFFSET".
std::string stack_text(const trace::TraceFile& file, std::uint32_t id, const char* separator);

// Prints the records of one file. Calls and fields that this version does not know are printed as well as the
// file's schema describes them.
class RecordPrinter {
 public:
  // `time_ns` turns ticks into ns since the job's start; without it they are printed as they are.
  explicit RecordPrinter(const RecordTexts& texts,
                         std::function<std::int64_t(std::uint64_t)> time_ns = nullptr);

  std::string call(const trace::Record& record) const;
  Fields fields(const trace::Record& record) const;  // strings resolved, quoted and escaped
  // "kernel", and name=... device=0 stream=7
  std::string device_call(const trace::DeviceWork& work) const;
  Fields device_fields(const trace::DeviceWork& work) const;

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

  const RecordTexts& texts_;
  std::function<std::int64_t(std::uint64_t)> time_ns_;
  std::map<std::string_view, std::vector<Field>> payloads_;
  std::map<std::uint16_t, CallRow> calls_;
};

}  // namespace ddpscope::reports
