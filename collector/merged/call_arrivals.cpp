// Device times where there are any, else the host's waits.
#include "collector/merged/call_arrivals.h"

#include <algorithm>

namespace ddpscope::merged {

CallArrivals::CallArrivals(Making& making, const detectors::Facts& facts, const std::vector<Mark>& marks)
    : making_(making), facts_(facts) {
  for (const Mark& mark : marks) {
    std::uint8_t& severity = severities_[mark.event];
    severity = std::max(severity, mark.severity);
  }
}

Arrival CallArrivals::of(std::uint32_t call) const {
  Arrival arrival;
  arrival.arrival_ns = facts_.collectives.calls.begin_ns(call);
  arrival.event = making_.writer.settled(making_.places[call]);
  complete(arrival, call);
  return arrival;
}

void CallArrivals::complete(Arrival& arrival, std::uint32_t call) const {
  if (const patterns::DeviceTime* time = facts_.collective_times.get().of(call)) {
    arrival.begin_ns = time->begin_ns;
    arrival.end_ns = time->end_ns;
    arrival.flags |= kTimed;
    return;
  }
  const ordering::Completion completion = facts_.device_order.completions[call];
  if (completion.wait != matching::kNone) {
    arrival.end_ns = facts_.device_order.waits[completion.wait].end_ns;
  } else if (completion.blocked != matching::kNone &&
             facts_.device_order.waits[completion.blocked].end_ns == ordering::kNever) {
    arrival.end_ns = kNever;
    arrival.flags |= kNeverCompleted;
  }
}

void CallArrivals::add(std::uint32_t call, Collective& collective) const {
  Arrival arrival = of(call);
  const matching::Signature& signature = facts_.collectives.calls.signature(call);
  auto& known = collective.signatures;
  auto found = std::find(known.begin(), known.end(), signature);
  arrival.signature = static_cast<std::uint32_t>(found - known.begin());
  if (found == known.end()) known.push_back(signature);
  collective.max_severity = std::max(collective.max_severity, severity_of(arrival));
  collective.flags |= arrival.flags;
  collective.arrivals.push_back(arrival);
}

std::uint8_t CallArrivals::severity_of(const Arrival& arrival) const {
  auto found = severities_.find(arrival.event);
  return found == severities_.end() ? std::uint8_t{0} : found->second;
}

}  // namespace ddpscope::merged
