// One pass for the notes, which come after the calls that they are about; the rest follows the records.
#include "collector/matching/captured_calls.h"

namespace ddpscope::matching {
namespace {

using trace::Operation;
using trace::Record;
namespace payload = trace::payload;

bool ends_capture(const Record& record) {
  auto call = static_cast<trace::Call>(record.call);
  return call == trace::Call::cudaStreamEndCapture || call == trace::Call::cudaStreamEndCapture_ptsz;
}

bool captures_to_graph(const Record& record) {
  auto call = static_cast<trace::Call>(record.call);
  return call == trace::Call::cudaStreamBeginCaptureToGraph ||
         call == trace::Call::cudaStreamBeginCaptureToGraph_ptsz;
}

}  // namespace

CapturedCalls::CapturedCalls(const trace::TraceFile& file) {
  model::for_each(file, {Operation::kCallCaptured}, [&](model::EventPlace, const Record& record) {
    auto note = trace::payload_of<payload::CallCaptured>(record);
    if (note.communicator) capture_of_[{note.communicator, note.sequence}] = note.capture;
  });
}

std::optional<std::uint64_t> CapturedCalls::capture_of(std::uint32_t communicator,
                                                       std::uint32_t sequence) const {
  if (!any()) return std::nullopt;
  auto found = capture_of_.find({communicator, sequence});
  return found == capture_of_.end() ? std::nullopt : std::optional(found->second);
}

void CapturedCalls::take(const Record& record) {
  Operation operation = trace::operation_of(record.call);
  if (operation == Operation::kCallCaptured) {
    auto note = trace::payload_of<payload::CallCaptured>(record);
    if (!note.communicator) next_launch_[record.thread] = note.capture;
  } else if (operation == Operation::kGraphMade) {
    auto made = trace::payload_of<payload::GraphMade>(record);
    auto graph = graphs_.find(made.graph);
    if (made.result != 0) return;
    bodies_.erase(made.graph);
    if (graph != graphs_.end())
      executables_[made.executable] = graph->second;
    else
      executables_.erase(made.executable);
  } else if (ends_capture(record)) {
    end_capture(record);
  } else if (captures_to_graph(record)) {
    capture_to_graph_.insert(trace::payload_of<payload::DeviceOrder>(record).stream);
  }
}

void CapturedCalls::end_capture(const Record& record) {
  auto end = trace::payload_of<payload::DeviceOrder>(record);
  bool to_graph = capture_to_graph_.erase(end.stream) > 0;
  if (end.result != 0) return;
  graphs_[end.event] = calls_[end.flags];
  if (to_graph) bodies_[end.event] = calls_[end.flags];
}

std::vector<CollectiveCall> CapturedCalls::in_bodies() const {
  Calls all;
  for (const auto& [graph, calls] : bodies_) all.insert(all.end(), calls.begin(), calls.end());
  return all;
}

std::optional<std::vector<CollectiveCall>> CapturedCalls::launched(const Record& record) {
  auto launch = trace::payload_of<payload::DeviceOrder>(record);
  auto found = executables_.find(launch.event);
  auto capture = next_launch_.find(record.thread);
  if (capture != next_launch_.end()) {
    Calls& into = calls_[capture->second];
    if (found != executables_.end()) into.insert(into.end(), found->second.begin(), found->second.end());
    next_launch_.erase(capture);
    return Calls{};
  }
  if (record.end && launch.result != 0) return Calls{};
  if (found == executables_.end()) return std::nullopt;
  return found->second;
}

}  // namespace ddpscope::matching
