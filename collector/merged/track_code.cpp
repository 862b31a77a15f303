// Fields in the order of their structures.
#include "collector/merged/track_code.h"

namespace ddpscope::merged {

void put_names(std::span<const Name> names, ByteWriter& out) {
  out.put_short(names.size());
  for (const Name& name : names) {
    out.put(name.kind);
    out.put_short(name.count);
    out.put_text(name.text);
  }
}

std::vector<Name> get_names(ByteReader& in) {
  std::vector<Name> names(in.get_count(3));
  for (Name& name : names) {
    name.kind = in.get<Kind>();
    if (static_cast<std::size_t>(name.kind) >= kKinds) name.kind = Kind::kOther;
    name.count = in.get_short();
    name.text = in.get_view();
  }
  return names;
}

void put_track(const StoredTrack& stored, ByteWriter& out) {
  const Track& track = stored.track;
  out.put_short(track.rank_row);
  out.put(track.kind);
  out.put(track.depth);
  out.put(track.lane);
  out.put_short(track.process);
  out.put_short(track.events);
  out.put_near(track.first_ns);
  out.put_near(track.last_end_ns);
  out.put(static_cast<std::uint8_t>(track.last_is_open));
  out.put(track.max_severity);
  out.put_text(track.label);
  out.put_short(stored.order);
  out.put_short(stored.names.size());
  for (const NameCount& name : stored.names) {
    out.put_short(name.name);
    out.put_short(name.count);
  }
}

StoredTrack get_track(ByteReader& in) {
  StoredTrack stored;
  Track& track = stored.track;
  track.rank_row = static_cast<std::uint32_t>(in.get_short());
  track.kind = in.get<TrackKind>();
  track.depth = in.get<std::uint16_t>();
  track.lane = in.get<std::uint64_t>();
  track.process = static_cast<std::uint32_t>(in.get_short());
  track.events = in.get_short();
  track.first_ns = in.get_near();
  track.last_end_ns = in.get_near();
  track.last_is_open = in.get<std::uint8_t>() != 0;
  track.max_severity = in.get<std::uint8_t>();
  track.label = in.get_text();
  stored.order = static_cast<std::uint32_t>(in.get_short());
  stored.names.resize(in.get_count(2));
  for (NameCount& name : stored.names) {
    name.name = static_cast<std::uint32_t>(in.get_short());
    name.count = static_cast<std::uint32_t>(in.get_short());
  }
  return stored;
}

}  // namespace ddpscope::merged
