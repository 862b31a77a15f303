// Evidence and phrases.
#include "collector/detectors/story.h"

#include <fmt/format.h>

#include <algorithm>

#include "collector/detectors/detector.h"
#include "collector/files/called_file.h"
#include "collector/files/read_items.h"
#include "collector/model/process_name.h"
#include "collector/ordering/explanation.h"
#include "collector/symbols/function_names.h"
#include "collector/symbols/native_frames.h"

namespace ddpscope::detectors {

findings::Evidence evidence_of(const model::Job& job, model::EventRef event, std::string detail) {
  const model::Process& process = job.processes[event.process];
  const trace::Record& record = process.record(event.place);
  const trace::CallInfo* info = trace::find_call(record.call);
  findings::Evidence evidence;
  evidence.rank = process.rank;
  evidence.process = model::process_name(job, process);
  evidence.t_ns = job.begin_ns(event);
  evidence.call = info ? info->symbol : "";
  evidence.detail = std::move(detail);
  evidence.stack = stack_of(job, event);
  return evidence;
}

findings::Evidence evidence_of(const model::Job& job, const matching::Collectives& collectives,
                               const matching::CollectiveCall& call, std::string detail) {
  findings::Evidence evidence = evidence_of(job, call.event, std::move(detail));
  evidence.rank = collectives.member_of(call).rank;
  return evidence;
}

void add_captured(const CallFacts& facts, const matching::CollectiveCall& call, findings::Finding& finding) {
  if (!call.by_graph()) return;
  findings::Evidence captured =
      evidence_of(facts.job, call.called, "the call that was captured: " + matching::to_text(call.signature));
  captured.rank = facts.collectives.member_of(call).rank;
  finding.evidence.push_back(std::move(captured));
}

findings::Evidence evidence_of_update(const model::Job& job, std::uint32_t process,
                                      const patterns::Update& update) {
  const trace::TraceFile& file = job.processes[process].file;
  model::EventRef launch{process, update.launch};
  if (update.range)
    return evidence_of(
        job, launch,
        fmt::format("in the range that the program calls \"{}\": an optimizer's update, the end "
                    "of a step",
                    file.string(update.range)));
  auto name = trace::payload_of<trace::payload::Launch>(job.record(launch)).name;
  std::string kernel = symbols::demangled(std::string(file.string(name)).c_str());
  return evidence_of(
      job, launch,
      fmt::format("{}: by its name an optimizer's update, the end of a step", symbols::shortened(kernel)));
}

findings::Evidence evidence_of_read(const model::Job& job, model::EventRef read, model::EventRef opening,
                                    std::string detail) {
  findings::Evidence evidence = evidence_of(job, read, std::move(detail));
  if (evidence.stack.empty()) evidence.stack = stack_of(job, files::opening_with_stack(job, opening));
  evidence.file = files::path_of(job, opening);
  return evidence;
}

std::vector<std::string> stack_of(const model::Job& job, model::EventRef event) {
  static symbols::NativeFrames native_frames;  // what a module's addresses mean depends on nothing else
  const trace::TraceFile& file = job.processes[event.process].file;
  std::vector<std::string> lines;
  for (const trace::StackFrame& frame : file.stack(job.record(event).stack)) {
    std::string_view name = file.string(frame.file);
    if (frame.kind == trace::FrameKind::kPython) {
      lines.push_back(fmt::format("{}:{} {}", name, frame.line, file.string(frame.function)));
      continue;
    }
    for (const std::string& native : native_frames.at(name, file.string(frame.function), frame.address))
      lines.push_back(native);
  }
  return lines;
}

std::string program_place(const model::Job& job, model::EventRef event) {
  std::vector<std::string> stack = stack_of(job, event);
  auto own = std::find_if_not(stack.begin(), stack.end(), findings::is_library_frame);
  if (own != stack.end()) return symbols::shortened_frame(*own);
  return stack.empty() ? "" : symbols::shortened_frame(stack.front());
}

std::vector<findings::LookedFor> looked_for(const ordering::HappensBefore& order, const ordering::Span& first,
                                            const ordering::Span& second) {
  std::vector<findings::LookedFor> searches;
  for (ordering::Search& search : ordering::explain(order, first, second))
    searches.push_back({std::move(search.edge), std::move(search.found)});
  return searches;
}

std::string call_and_file(const model::Job& job, model::EventRef event) {
  const trace::CallInfo* info = trace::find_call(job.record(event).call);
  std::string file = files::called_file(job, event);
  return (info ? info->symbol : "a call") + (file.empty() ? "" : " of " + file);
}

std::vector<std::int32_t> ranks_of(const matching::Communicator& communicator,
                                   const std::vector<std::uint32_t>& members) {
  std::vector<std::int32_t> ranks;
  for (std::uint32_t m : members) ranks.push_back(communicator.members[m].rank);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

std::string list_sets(const std::vector<std::vector<std::int32_t>>& sets, std::string_view between) {
  constexpr std::size_t kMaxTold = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(sets.size(), kMaxTold); ++i) {
    if (i) text += between;
    text += list_ranks(sets[i]);
  }
  if (sets.size() > kMaxTold)
    text += fmt::format("{} and {} more such sets", between.front(), sets.size() - kMaxTold);
  return text;
}

std::string subject_of(const SetsOfRanks& sets) {
  return list_sets({sets.begin(), sets.end()}) + (sets.size() > 1 ? "," : "");
}

std::vector<std::int32_t> union_of(const SetsOfRanks& sets) {
  std::set<std::int32_t> all;
  for (const std::vector<std::int32_t>& ranks : sets) all.insert(ranks.begin(), ranks.end());
  return {all.begin(), all.end()};
}

const char* verb(const std::vector<std::int32_t>& ranks, const char* of_one, const char* of_many) {
  return ranks.size() == 1 ? of_one : of_many;
}

std::string at(const std::string& code_place) { return code_place.empty() ? "" : " at " + code_place; }

std::string seconds(std::int64_t ns) { return fmt::format("{:.3f} s", static_cast<double>(ns) * 1e-9); }

}  // namespace ddpscope::detectors
