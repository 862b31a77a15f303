// Through which mount each call on a name sees it.
#pragma once
#include <cstdint>
#include <map>
#include <utility>

#include "collector/files/places.h"
#include "collector/files/shared_names.h"

namespace ddpscope::files {

// By the path as its own process names it.
class EventViews {
 public:
  explicit EventViews(const model::Job& job) : job_(job), places_(job) {}

  View of(const FileEvent& event, bool target = false) {
    std::uint32_t path = path_in(event, target);
    auto [known, fresh] = known_.try_emplace({event.event.process, path});
    if (fresh)
      known->second =
          places_.view(event.event.process, job_.processes[event.event.process].file.string(path));
    return known->second;
  }

 private:
  std::uint32_t path_in(const FileEvent& event, bool target) const {
    const trace::Record& record = job_.record(event.event);
    trace::PayloadKind payload = trace::find_call(record.call)->payload;
    if (payload == trace::PayloadKind::kFileOpen)
      return trace::payload_of<trace::payload::FileOpen>(record).path;
    if (payload == trace::PayloadKind::kListing)
      return trace::payload_of<trace::payload::Listing>(record).path;
    auto call = trace::payload_of<trace::payload::FileName>(record);
    return target ? call.target : call.path;
  }

  const model::Job& job_;
  files::Places places_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, View> known_;  // by process and string
};

}  // namespace ddpscope::files
