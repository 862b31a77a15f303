// A writer makes its folder where there is none; here that would be one without the job's traces.
#include "collector/commands/own_trace.h"

#include "trace/schema.h"
#include "trace/write/identity.h"

namespace ddpscope::commands {

std::unique_ptr<trace::FileWriter> open_own_trace(const std::filesystem::path& folder,
                                                  const trace::Clock& clock, trace::ThreadWriter& writer) {
  std::error_code gone;
  if (!std::filesystem::is_directory(folder, gone)) return nullptr;
  auto file = std::make_unique<trace::FileWriter>();
  if (!file->open(folder.c_str(), trace::read_identity(), clock, trace::kPageBytes, false)) return nullptr;
  writer.write_schema(*file, trace::kSchemaText, trace::kSchemaBytes);
  return file;
}

}  // namespace ddpscope::commands
