// By the kind of the call's payload.
#include "collector/files/called_file.h"

#include "trace/payloads.h"

namespace ddpscope::files {
namespace {

using trace::PayloadKind;

std::string opened_as(const model::Process& process, std::uint32_t number) {
  std::string path;
  if (number == 0) return path;
  model::for_each(process.file, {trace::Operation::kOpen},
                  [&](model::EventPlace, const trace::Record& record) {
                    if (trace::find_call(record.call)->payload != PayloadKind::kFileOpen) return;
                    auto opening = trace::payload_of<trace::payload::FileOpen>(record);
                    if (opening.file == number) path = process.file.string(opening.path);
                  });
  return path;
}

}  // namespace

std::string called_file(const model::Job& job, model::EventRef event) {
  const model::Process& process = job.processes[event.process];
  const trace::Record record = process.record(event.place);
  const trace::CallInfo* info = trace::find_call(record.call);
  if (!info) return "";
  switch (info->payload) {
    case PayloadKind::kFileOpen:
      return std::string(process.file.string(trace::payload_of<trace::payload::FileOpen>(record).path));
    case PayloadKind::kFileName:
      return std::string(process.file.string(trace::payload_of<trace::payload::FileName>(record).path));
    case PayloadKind::kFileIo:
      return opened_as(process, trace::payload_of<trace::payload::FileIo>(record).file);
    case PayloadKind::kFileLock:
      return opened_as(process, trace::payload_of<trace::payload::FileLock>(record).file);
    default:
      return "";
  }
}

}  // namespace ddpscope::files
