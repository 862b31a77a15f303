// Compares all stacks of the job.
#include "collector/detectors/code_places.h"

#include <fmt/format.h>

#include <algorithm>

#include "collector/detectors/story.h"
#include "collector/findings/finding.h"
#include "collector/matching/call_sites.h"
#include "collector/symbols/function_names.h"

namespace ddpscope::detectors {
namespace {

using findings::is_library_frame;

std::string_view file_of(std::string_view frame) { return findings::parts_of(frame).file; }

std::string function_key(std::string_view frame) {
  findings::FrameParts parts = findings::parts_of(frame);
  return std::string(parts.file) + " " + std::string(parts.function);
}

std::size_t innermost_own(const std::vector<std::string>& stack) {
  auto own = std::find_if_not(stack.begin(), stack.end(), is_library_frame);
  return own == stack.end() ? 0 : static_cast<std::size_t>(own - stack.begin());
}

std::size_t outermost_of(const std::vector<std::string>& stack, std::string_view file) {
  auto found =
      std::find_if(stack.rbegin(), stack.rend(), [&](auto& frame) { return file_of(frame) == file; });
  return static_cast<std::size_t>(stack.rend() - found) - 1;
}

// Where the caller of this frame was handed what it calls: the frame of this one's file that handed it over.
// That file called the caller's before it was called back. 0 where it calls by itself.
std::size_t handed_at(const std::vector<std::string>& stack, std::size_t frame) {
  std::string_view file = file_of(stack[frame]);
  if (outermost_of(stack, file) < outermost_of(stack, file_of(stack[frame + 1]))) return 0;
  for (std::size_t i = frame + 1; i < stack.size(); ++i)
    if (file_of(stack[i]) == file) return i;
  return 0;
}

// The program itself called the function of this frame.
bool called_by_program(const std::vector<std::string>& stack, std::size_t frame) {
  return frame + 1 < stack.size() && !is_library_frame(stack[frame + 1]);
}

}  // namespace

void CodePlaces::learn(const Stack& stack) const {
  for (std::size_t i = 0; i + 1 < stack.size(); ++i) {
    const std::string& caller = stack[i + 1];
    callers_[function_key(stack[i])].insert(caller);
    std::string_view file = file_of(stack[i]);
    if (file != file_of(caller) && !is_library_frame(caller) && !handed_at(stack, i))
      entries_[std::string(file)].insert(caller);
  }
}

void CodePlaces::load() const {
  loaded_ = true;
  matching::CallSites sites(job_);
  for (std::uint32_t i = 0; i < job_.processes.size(); ++i) {
    std::set<std::uint32_t> known{0};
    if (job_.processes[i].rank < 0) continue;
    model::for_each(job_.processes[i].file, [&](model::EventPlace place, const trace::Record& record) {
      if (!known.insert(record.stack).second) return;
      std::uint32_t count = sites.count();
      if (sites.number(i, record.stack) == count) learn(stack_of(job_, {i, place}));
    });
  }
}

bool CodePlaces::has_several_callers(const std::string& frame) const {
  auto found = callers_.find(function_key(frame));
  return found != callers_.end() && found->second.size() > 1;
}

bool CodePlaces::is_called_from_several_files(const std::string& frame) const {
  auto found = entries_.find(file_of(frame));
  return found != entries_.end() && found->second.size() > 1;
}

std::size_t CodePlaces::caller_of(const Stack& stack, std::size_t frame) const {
  std::size_t outer = handed_at(stack, frame);
  auto callers = callers_.find(function_key(stack[frame]));
  if (!outer || callers == callers_.end()) return frame + 1;
  auto sites = std::ranges::count(callers->second, file_of(stack[frame + 1]), file_of);
  return sites > 1 ? frame + 1 : outer;
}

std::string CodePlaces::of(model::EventRef event) const { return symbols::shortened_frame(frame_of(event)); }

std::string CodePlaces::frame_of(model::EventRef event) const {
  if (!loaded_) load();
  Stack stack = stack_of(job_, event);
  if (stack.empty()) return "";
  const std::size_t first = innermost_own(stack);
  std::string_view file = file_of(stack[first]);
  std::size_t at = first;
  while (file_of(stack[at]) == file && called_by_program(stack, at) && has_several_callers(stack[at]))
    at = caller_of(stack, at);
  if (at > first || !is_called_from_several_files(stack[first])) return stack[at];
  while (file_of(stack[at]) == file && called_by_program(stack, at)) at = caller_of(stack, at);
  return file_of(stack[at]) == file ? stack[first] : stack[at];
}

std::string CodePlaces::of(model::EventRef event, model::EventRef beside) const {
  std::string place = frame_of(event);
  if (place != frame_of(beside)) return symbols::shortened_frame(place);
  Stack own = stack_of(job_, event), other = stack_of(job_, beside);
  for (std::size_t i = 0; i < std::min(own.size(), other.size()); ++i)
    if (own[i] != other[i] && !is_library_frame(own[i])) return symbols::shortened_frame(own[i]);
  return symbols::shortened_frame(place);
}

std::string CodePlaces::with_launch(std::string place, const matching::CollectiveCall& call) const {
  std::string launch = call.by_graph() ? of(call.event) : "";
  return launch.empty() ? place : fmt::format("{}, in the graph launched at {}", place, launch);
}

std::string CodePlaces::of(const matching::CollectiveCall& call) const {
  return with_launch(of(call.called), call);
}

std::string CodePlaces::of(const matching::CollectiveCall& call,
                           const matching::CollectiveCall& beside) const {
  return with_launch(of(call.called, beside.called), call);
}

std::string_view CodePlaces::made_for(const matching::CollectiveCall& call) const {
  const trace::Record record = job_.record(call.called);
  const std::uint32_t process = call.called.process;
  const auto& calls = group_calls_.try_emplace(process, job_, process).first->second;
  const ordering::GroupCall* outer = calls.at(record.thread, job_.begin_ns(call.called));
  if (!outer || outer->is_barrier()) return {};
  const std::string_view name = trace::find_call(outer->call)->symbol;
  std::string same = "nccl" + std::string(name.substr(name.find('_') + 1));  // as NCCL writes it
  std::erase(same, '_');
  const std::string_view own = trace::find_call(record.call)->symbol;
  auto equal = [](unsigned char a, unsigned char b) { return a == std::tolower(b); };
  return std::ranges::equal(same, own, equal) ? std::string_view() : name;
}

std::string CodePlaces::whole(model::EventRef event) const {
  return findings::key_of_stack(stack_of(job_, event));
}

}  // namespace ddpscope::detectors
