// Puts the parts of a merged file together.
#include "collector/merged/writer.h"

#include <algorithm>

namespace ddpscope::merged {

Result<Writer> Writer::create(const std::filesystem::path& path, const Shape& shape) {
  auto output = Output::create(path);
  if (!output) return output.error();
  return Writer(std::move(*output), shape);
}

Writer::Writer(Output output, const Shape& shape)
    : output_(std::make_unique<Output>(std::move(output))),
      packer_(std::make_unique<Packer>()),
      tracks_(std::make_unique<TrackStore>(*output_, *packer_)),
      collectives_(std::make_unique<CollectiveWriter>(*output_, *packer_)),
      summary_(std::make_unique<Summary>(
          shape.duration_ns, column_count(shape.duration_ns, shape.calls, shape.rank_rows), shape.rank_rows)),
      duration_ns_(std::max<std::int64_t>(shape.duration_ns, 0)) {
  const std::vector<unsigned char> header(kPage);
  output_->append(header);
}

std::uint32_t Writer::name(std::string_view text, Kind kind) {
  auto [known, fresh] =
      name_numbers_.try_emplace({std::string(text), kind}, static_cast<std::uint32_t>(names_.size()));
  if (fresh) names_.push_back({known->first.first, kind, 0});
  return known->second;
}

std::uint32_t Writer::open_track(Track track) {
  open_.push_back(tracks_->open(std::move(track)));
  return open_.back();
}

std::int64_t Writer::cut(std::int64_t ns) const { return std::clamp<std::int64_t>(ns, 0, duration_ns_); }

EventPlace Writer::add(std::uint32_t track, Event event, Slot slot) {
  TrackWriter& writer = *tracks_->writer(track);
  event.begin_ns = cut(event.begin_ns);
  event.end_ns = std::max(cut(event.end_ns), event.begin_ns);
  event.kind = names_[event.name].kind;
  ++names_[event.name].count;
  EventPlace place{track, writer.events()};
  writer.add(event, slot);
  summary_->add(writer.track().kind, event);
  return place;
}

void Writer::close_rank(std::uint32_t rank_row, bool is_rank) {
  for (std::uint32_t handle : open_) tracks_->close(handle);
  open_.clear();
  summary_->close_rank(rank_row, is_rank);
}

BlockEntry Writer::add_block(std::span<const unsigned char> bytes) {
  auto packed = packer_->pack(bytes);
  BlockEntry entry{output_->offset(), static_cast<std::uint32_t>(packed.size()),
                   static_cast<std::uint32_t>(bytes.size())};
  output_->append(packed);
  return entry;
}

void Writer::add_process(std::uint32_t process, std::span<const unsigned char> tables) {
  if (process_blocks_.size() <= process) process_blocks_.resize(process + 1);
  process_blocks_[process] = add_block(tables);
}

BlockEntry Writer::add_block(std::string_view text) {
  return add_block({reinterpret_cast<const unsigned char*>(text.data()), text.size()});
}

void Writer::add_info(std::string_view text) { info_block_ = {add_block(text)}; }

void Writer::add_summary(std::string_view json) { summary_block_ = {add_block(json)}; }

EventPlace Writer::settled(EventPlace place) const {
  std::uint32_t number = tracks_->number_of(place.track);
  return number == kNone ? kNoEvent : EventPlace{number, place.index};
}

void Writer::add_collective(const Collective& collective) {
  collectives_->add(collective);
  if (collective.is_message()) return;  // who sends late may have waited for what came before in a pipeline
  std::int64_t first_ns = kNever;
  for (const Arrival& arrival : collective.arrivals) first_ns = std::min(first_ns, arrival.arrival_ns);
  const auto& members = collectives_->row().members;
  for (std::size_t i = 0; i < collective.arrivals.size() && i < members.size(); ++i)
    if (std::int64_t ns = collective.arrivals[i].arrival_ns; ns != kNever)
      summary_->add_arrival(members[i].rank_row, ns, ns - first_ns);
}

void Writer::mark(Contents& contents) {
  std::vector<Mark>& marks = contents.found.marks;
  std::stable_sort(marks.begin(), marks.end(),
                   [](const Mark& a, const Mark& b) { return a.severity < b.severity; });
  for (const Mark& mark : marks) {
    tracks_->set_severity(mark.event, mark.severity);
    const auto& evidence = contents.found.outcome.findings[mark.finding].evidence[mark.evidence];
    summary_->raise_severity(tracks_->track(mark.event.track).rank_row, cut(evidence.t_ns), mark.severity);
  }
  std::sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) {
    return std::tie(a.event, a.finding, a.evidence) < std::tie(b.event, b.finding, b.evidence);
  });
}

// All but the data, which is written as it comes.
void Writer::put(Contents& contents, CollectiveWriter& collectives, SectionWriter& sections) {
  contents.facts.job.events = tracks_->events();
  mark(contents);
  collectives.end();
  sections.list(SectionId::kData, kPage, output_->offset() - kPage);
  ByteWriter facts, found;
  put_facts(contents.facts, facts);
  sections.put(SectionId::kFacts, facts.bytes());
  put_found(contents.found, found);
  sections.put(SectionId::kFindings, found.bytes());
  tracks_->put(sections, names_);
  sections.put_table(SectionId::kProcessIndex, process_blocks_);
  sections.put_table(SectionId::kInfo, info_block_);
  sections.put_table(SectionId::kSummary, summary_block_);
  summary_->put(sections, contents.facts.hosts);
  collectives.put(sections);
  sections.finish();
}

std::optional<Error> Writer::finish(Contents contents) {
  SectionWriter sections(*output_);
  put(contents, *collectives_, sections);
  return output_->finish();
}

Result<Reader> Writer::preview(Contents contents, const std::vector<CommunicatorRow>& communicators,
                               Output sections) {
  settle();
  sections.append(std::vector<unsigned char>(kPage));
  SectionWriter writer(sections);
  CollectiveWriter none(sections, *packer_);
  for (const CommunicatorRow& row : communicators) none.begin(row);
  put(contents, none, writer);
  return Reader::open_preview(sections.flushed(), output_->flushed(), output_->target(), contents.judged);
}

}  // namespace ddpscope::merged
