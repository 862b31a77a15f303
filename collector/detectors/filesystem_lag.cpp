// filesystem-lag: what another rank has made or written is not to be seen on this one, though the order was
// right (section 1.2 of the catalogue of bugs, its control).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "collector/detectors/detector.h"
#include "collector/detectors/story.h"
#include "collector/ordering/file_edges.h"
#include "collector/patterns/late_files.h"
#include "collector/patterns/peer_news.h"

namespace ddpscope::detectors {
namespace {

using files::FileEvent;
using files::kNoEvent;
using patterns::Late;
using patterns::LateLook;
using trace::Operation;

constexpr const char* kSlug = "filesystem-lag";
constexpr std::size_t kMaxLooks = 8;  // in the evidence

// Looks from one place at what one place made: one file system, one program.
struct Lag {
  std::string look_place, change_place;
  std::vector<const LateLook*> looks;
};

const FileEvent& event_of(const Facts& facts, std::uint32_t index) { return facts.names.events[index]; }

const std::string& path_of(const Facts& facts, const LateLook& late) { return facts.names.paths[late.name]; }

const std::string& host_of(const Facts& facts, const FileEvent& event) {
  return facts.job.hosts[facts.job.processes[event.event.process].host].name;
}

std::vector<Lag> find_lags(const Facts& facts, const std::vector<LateLook>& looks) {
  std::map<std::pair<std::string, std::string>, Lag> lags;
  for (const LateLook& late : looks) {
    std::string look = facts.places.of(event_of(facts, late.look).event);
    std::string change = facts.places.of(event_of(facts, late.change).event);
    Lag& lag = lags[{look, change}];
    lag.look_place = look;
    lag.change_place = change;
    lag.looks.push_back(&late);
  }
  std::vector<Lag> found;
  for (auto& [lines, lag] : lags) found.push_back(std::move(lag));
  return found;
}

std::string bytes_text(std::uint64_t bytes) { return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s"); }

// A collective that the first rank begins after its change, and whose end the second one's host knows before
// it looks: the last.
std::vector<findings::Evidence> tell_round(const Facts& facts, const FileEvent& change,
                                           const FileEvent& look) {
  const matching::Member* members[2] = {};
  for (auto round = facts.rounds.all().rbegin(); round != facts.rounds.all().rend(); ++round) {
    if (round->end_ns < change.end_ns) break;
    members[0] = members[1] = nullptr;
    for (const auto& member : facts.collectives.communicators[round->communicator].members) {
      if (member.process == change.event.process) members[0] = &member;
      if (member.process == look.event.process) members[1] = &member;
    }
    if (!members[0] || !members[1]) continue;
    auto first = facts.collectives.call_at(*members[0], round->ordinal);
    std::int64_t known = facts.device_order.complete_ns(members[1]->calls[round->ordinal]);
    if (first.begin_ns < change.end_ns || known > look.begin_ns) continue;
    return {evidence_of(facts.job, facts.collectives, first,
                        fmt::format("{}: begun after that", to_text(first.signature))),
            evidence_of(facts.job, facts.collectives, facts.collectives.call_at(*members[1], round->ordinal),
                        fmt::format("complete at {}, as its host knows: from here on it must be there",
                                    seconds(known)))};
  }
  return {};
}

// What orders the two: by NCCL, else where the second rank heard of it by other means.
std::vector<findings::Evidence> tell_order(const Facts& facts, patterns::PeerNews& news,
                                           const LateLook& late) {
  const FileEvent& change = event_of(facts, late.closed);
  const FileEvent& look = event_of(facts, late.look);
  std::vector<findings::Evidence> evidence = tell_round(facts, change, look);
  if (!evidence.empty()) return evidence;
  auto told = news.first_told(ordering::span_of(look).thread, change.begin_ns - facts.job.clock_error_ns,
                              ordering::span_of(change).thread, change.end_ns);
  if (told && told->begin_ns <= look.begin_ns)
    evidence.push_back(evidence_of(facts.job, told->event, "hears of it: from here on it must be there"));
  return evidence;
}

std::string tell_change(const Facts& facts, const LateLook& late) {
  const FileEvent& change = event_of(facts, late.change);
  if (late.kind == Late::kSize)
    return fmt::format("writes {} and closes the file at {}", bytes_text(late.written),
                       seconds(event_of(facts, late.closed).end_ns));
  std::string inode = late.kind == Late::kVersion ? fmt::format(": inode {}", change.inode) : std::string();
  if (change.operation == Operation::kRename && change.name != files::kNoName)
    return fmt::format("renames {} to it{}", facts.names.paths[change.name], inode);
  return (change.operation == Operation::kMakeDirectory ? "makes the folder" : "makes the file") + inode;
}

std::string tell_look(const Facts& facts, const LateLook& late) {
  std::uint32_t attempts = event_of(facts, late.look).attempts;
  if (late.kind == Late::kSize) return fmt::format("finds {}", bytes_text(late.seen));
  if (late.kind == Late::kVersion)
    return fmt::format("finds inode {}: the older version", event_of(facts, late.look).inode);
  if (late.kind == Late::kEntry)
    return fmt::format("is told {} {} of the folder, and not this one", late.seen,
                       late.seen == 1 ? "entry" : "entries");
  return attempts > 1 ? fmt::format("does not find it, {} times", attempts) : "does not find it";
}

void add(const Facts& facts, std::uint32_t index, std::string detail, const LateLook& late,
         findings::Finding& finding) {
  finding.evidence.push_back(evidence_of(facts.job, event_of(facts, index).event, std::move(detail)));
  finding.evidence.back().file = path_of(facts, late);
}

// Between the last look in vain and the first that finds it, counted from the change: clocks of two hosts.
std::string delay_of(const Facts& facts, const LateLook& late) {
  std::int64_t from = event_of(facts, late.closed).end_ns;
  std::int64_t least = event_of(facts, late.last).end_ns - from;
  std::int64_t most = event_of(facts, late.shown).end_ns - from;
  return fmt::format("between {} and {} after the change", seconds(std::max<std::int64_t>(least, 0)),
                     seconds(most));
}

std::string tell_shown(Late kind) { return kind == Late::kVersion ? "shows the new one, " : "shows it, "; }

void tell_looks(const Facts& facts, const Lag& lag, findings::Finding& finding) {
  patterns::PeerNews news(facts.job, facts.order);
  const LateLook& first = *lag.looks.front();
  if (first.older != kNoEvent)
    add(facts, first.older, fmt::format("the name means inode {}", event_of(facts, first.older).inode), first,
        finding);
  add(facts, first.change, tell_change(facts, first), first, finding);
  for (findings::Evidence& ordered : tell_order(facts, news, first))
    finding.evidence.push_back(std::move(ordered));
  finding.shown = 0;
  for (const LateLook* late : lag.looks) {
    if (finding.shown == kMaxLooks) break;
    add(facts, late->look, tell_look(facts, *late), *late, finding);
    if (late->shown != kNoEvent)
      add(facts, late->shown, tell_shown(late->kind) + delay_of(facts, *late), *late, finding);
    if (late->there != kNoEvent)
      add(facts, late->there, "shows it through another mount: it is there", *late, finding);
    ++finding.shown;
  }
}

const char* tell_done(Late kind) {
  if (kind == Late::kName || kind == Late::kEntry) return "made";
  return kind == Late::kSize ? "written and closed" : "replaced";
}

std::string tell_lag(const Facts& facts, const LateLook& late, const std::vector<std::int32_t>& lookers) {
  const std::string &ranks = list_ranks(lookers), &path = path_of(facts, late);
  switch (late.kind) {
    case Late::kName:
      return fmt::format("{} {} in vain for {}", ranks, verb(lookers, "looks", "look"), path);
    case Late::kSize:
      return fmt::format("{} {} {} of {} in {}", ranks, verb(lookers, "finds", "find"), late.seen,
                         bytes_text(late.written), path);
    case Late::kVersion:
      return fmt::format("{} {} an older version of {}", ranks, verb(lookers, "finds", "find"), path);
    case Late::kEntry:
      return fmt::format("{} {} {} without {}", ranks, verb(lookers, "lists", "list"),
                         facts.names.paths[event_of(facts, late.look).name],
                         path.substr(path.rfind('/') + 1));
  }
  return {};
}

std::string title_of(const Facts& facts, const Lag& lag, const std::vector<std::int32_t>& lookers) {
  const LateLook& first = *lag.looks.front();
  const FileEvent& change = event_of(facts, first.closed);
  const std::string &here = host_of(facts, event_of(facts, first.look)), &there = host_of(facts, change);
  std::string where = here == there ? std::string("through another mount") : fmt::format("from {}", here);
  return fmt::format("{}{} {}, after rank {} has {} it{}{}: the order is right, the file system is late",
                     tell_lag(facts, first, lookers), at(lag.look_place), where, change.rank,
                     tell_done(first.kind), at(lag.change_place), here == there ? "" : " on " + there);
}

// It was not there, or the job itself shows that it had not gone.
findings::Confidence confidence_of(const Lag& lag) {
  bool shown = std::any_of(lag.looks.begin(), lag.looks.end(),
                           [](const LateLook* late) { return late->shown != kNoEvent && !late->made_again; });
  return shown ? findings::Confidence::kCertain : findings::Confidence::kLikely;
}

const char* advice_of(Late kind) {
  if (kind == Late::kVersion)
    return "Do not put a new version in the place of one that other hosts know: give each version a name of "
           "its own, and tell the others which with a message. Else let rank 0 read it and broadcast the "
           "content, or mount with noac, actimeo=0 or lookupcache=none.";
  if (kind == Late::kEntry)
    return "Do not let other hosts list what one has just made: let rank 0 list it and broadcast the names. "
           "Else "
           "list again until all that is awaited is there, up to the time for which the mount keeps what it "
           "knows, "
           "or mount with noac or actimeo=0.";
  return "Do not let other hosts look for what one has just made: let rank 0 read it and broadcast the "
         "content, or let one rank of each host make its own. Else look again until it is there, up to the "
         "time for which the mount keeps what it knows (opening the folder asks the server anew), or mount "
         "with noac, actimeo=0 or lookupcache=none.";
}

findings::Finding finding_of(const Facts& facts, const Lag& lag) {
  findings::Finding finding;
  finding.slug = kSlug;
  finding.severity = findings::Severity::kWarning;
  finding.confidence = confidence_of(lag);
  std::set<std::int32_t> lookers, ranks;
  finding.first_ns = ordering::kNever;
  for (const LateLook* late : lag.looks) {
    lookers.insert(event_of(facts, late->look).rank);
    ranks.insert({event_of(facts, late->look).rank, event_of(facts, late->change).rank});
    finding.first_ns = std::min(finding.first_ns, event_of(facts, late->change).begin_ns);
    std::uint32_t last = late->shown == kNoEvent ? late->last : late->shown;
    finding.last_ns = std::max(finding.last_ns, event_of(facts, last).end_ns);
    finding.files.insert(path_of(facts, *late));
  }
  finding.ranks = {ranks.begin(), ranks.end()};
  finding.count = lag.looks.size();
  finding.title = title_of(facts, lag, {lookers.begin(), lookers.end()});
  finding.advice = advice_of(lag.looks.front()->kind);
  finding.place = facts.rounds.place(finding.ranks, finding.first_ns, finding.last_ns);
  finding.key = fmt::format("{} behind {}", findings::key_of_frame(lag.look_place),
                            findings::key_of_frame(lag.change_place));
  if (lag.look_place.empty() && lag.change_place.empty()) finding.key = *finding.files.begin();
  tell_looks(facts, lag, finding);
  return finding;
}

}  // namespace

void detect_filesystem_lag(const Facts& facts, findings::Outcome& outcome) {
  patterns::LateLooks late = patterns::find_late_looks(facts.job, facts.names, facts.order);
  for (const Lag& lag : find_lags(facts, late.looks)) outcome.findings.push_back(finding_of(facts, lag));
  const char* made = "in which another host, or mount, had made something";
  auto listings = [](std::size_t count) { return fmt::format("{} listing{}", count, count == 1 ? "" : "s"); };
  if (late.listings)
    outcome.coverage.push_back(
        {fmt::format("{} of folders {}", listings(late.listings), made),
         "which entries a listing told is not known: the trace is of an older version, or the "
         "folder was not read to its end by one thread, or filtered, or has more than 1024",
         {kSlug}});
  if (late.unproven_listings)
    outcome.coverage.push_back(
        {fmt::format("{} of folders {} that they did not tell", listings(late.unproven_listings), made),
         "nobody found it afterwards: what is not recorded may have removed it",
         {kSlug}});
  if (late.versions)
    outcome.coverage.push_back(
        {fmt::format("{} look{} at files that another host, or mount, had replaced before", late.versions,
                     late.versions == 1 ? "" : "s"),
         "which version was found is not known: clients of FUSE may make inode numbers up",
         {kSlug}});
}

}  // namespace ddpscope::detectors
