// The conversations as they were at that moment, and what was seen of each rank then.
#include "collector/live/past_stalls.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "collector/detectors/at_work.h"
#include "collector/detectors/hangs.h"
#include "collector/detectors/story.h"
#include "collector/detectors/whereabouts.h"
#include "collector/live/conversations.h"
#include "collector/live/machine.h"
#include "collector/live/moments.h"

namespace ddpscope::live {
namespace {

using model::Job;
using model::Sighting;

class PastJudge {
 public:
  PastJudge(const Job& job, End end) : job_(job), end_ns_(end.at_ns), was_told_(end.told) {}

  void judge(const Conversation& conversation, PastStalls& stalls);

 private:
  struct Seen {
    std::int64_t first_ns, last_ns;
    Inside inside;
    const Sighting* sighting;
  };
  struct Parts {  // by rank
    std::map<std::int32_t, Speaker> silent, waiting, busy;
  };
  using RanksByPlace = std::map<std::string, std::vector<std::int32_t>>;
  std::optional<Seen> seen(std::uint32_t process, std::int64_t at_ns) const;
  std::optional<std::int64_t> raised_ns(const Conversation& conversation, const Speaker& speaker) const;
  std::int64_t given_up_ns(const Conversation& conversation) const;
  std::int64_t last_wait_ns(const Conversation& conversation) const;
  bool is_elsewhere(const Speaker& speaker) const;
  bool lingers(const Speaker& speaker, std::int64_t needed_ns) const;
  bool comes_by_itself(const Speaker& speaker, std::int64_t acted_ns) const;
  bool is_at_work(const Speaker& speaker) const;
  std::string where(const Moment& moment) const;
  bool find_parts(const Conversation& conversation, Parts& parts) const;
  findings::Finding tell(const Conversation& conversation, const Parts& parts) const;
  RanksByPlace find_apart(const Conversation& conversation) const;
  findings::Finding tell_apart(const Conversation& conversation, const RanksByPlace& places) const;
  std::string places_of(const std::map<std::int32_t, Speaker>& speakers) const;
  std::string tell_unjudged(const Conversation& conversation, const Parts& parts) const;
  void tell_silent(std::int32_t rank, const Speaker& speaker, findings::Finding& finding) const;

  const Job& job_;
  std::int64_t end_ns_;
  bool was_told_;
  std::int64_t at_ns_ = 0;      // the moment
  std::int64_t waited_ns_ = 0;  // until then
  bool watched_ = false;        // somebody was seen to wait then; else it is the end
};

std::vector<std::int32_t> ranks_of(const std::map<std::int32_t, Speaker>& by_rank) {
  std::vector<std::int32_t> ranks;
  for (const auto& [rank, speaker] : by_rank) ranks.push_back(rank);
  return ranks;
}

// Looks at other hosts may be a while earlier.
std::optional<PastJudge::Seen> PastJudge::seen(std::uint32_t process, std::int64_t at_ns) const {
  std::optional<Seen> found;
  for (const Sighting& sighting : job_.processes[process].sightings) {
    std::int64_t first_ns = job_.time_ns(process, sighting.first_ticks);
    bool goes_on = found && first_ns == at_ns && found->last_ns == at_ns;  // this is what came after
    if (first_ns <= at_ns && !goes_on)
      found = {first_ns, job_.time_ns(process, sighting.last_ticks), from_place(sighting.inside), &sighting};
  }
  if (found && found->last_ns + detectors::kLongWait < at_ns) found.reset();
  return found;
}

// Since they last spoke.
std::optional<std::int64_t> PastJudge::raised_ns(const Conversation& conversation,
                                                 const Speaker& speaker) const {
  auto raised = find_moment(job_, speaker.process, conversation.last_ns).traceback;
  return raised ? std::optional(job_.begin_ns(*raised)) : std::nullopt;
}

// When the first of them gave up a wait for a thread (Gloo's timeout) and raised an exception, until the end.
// The others may hear of it, or their own time be up, a while later: until then all were where they waited.
// An exception is seen as it leaves the program: a look may have found its rank on the way there.
std::int64_t PastJudge::given_up_ns(const Conversation& conversation) const {
  std::int64_t first_ns = end_ns_;
  for (const auto& [rank, speaker] : conversation.speakers) {
    auto raised = raised_ns(conversation, speaker);
    if (!raised) continue;
    auto then = seen(speaker.process, *raised);
    bool on_its_way = then && then->inside.doing != Doing::kAwaitsThread;
    if (on_its_way) then = seen(speaker.process, then->first_ns - 1);
    if (!then || then->inside.doing != Doing::kAwaitsThread ||
        *raised - then->last_ns >= detectors::kLongWait)
      continue;
    std::int64_t gave_up_ns = on_its_way ? then->last_ns : *raised - 1;
    if (gave_up_ns - then->first_ns >= detectors::kLongWait) first_ns = std::min(first_ns, gave_up_ns);
  }
  return first_ns;
}

// When any of the ranks was last seen to wait for a thread, until the first gave up; 0 if none was since they
// last spoke. Who raised an exception waits for its own threads after that, to end.
std::int64_t PastJudge::last_wait_ns(const Conversation& conversation) const {
  std::int64_t last_ns = 0, given_up = given_up_ns(conversation);
  for (const auto& [rank, speaker] : conversation.speakers) {
    auto raised = raised_ns(conversation, speaker);
    std::int64_t until_ns = raised ? std::min(given_up, *raised - 1) : given_up;
    for (const Sighting& sighting : job_.processes[speaker.process].sightings) {
      if (from_place(sighting.inside).doing != Doing::kAwaitsThread) continue;
      if (job_.time_ns(speaker.process, sighting.first_ticks) > until_ns) continue;
      last_ns = std::max(last_ns, std::min(until_ns, job_.time_ns(speaker.process, sighting.last_ticks)));
    }
  }
  return last_ns > conversation.last_ns ? last_ns : 0;
}

// Neither did it give up such a wait of its own.
bool PastJudge::is_elsewhere(const Speaker& speaker) const {
  Moment moment = find_moment(job_, speaker.process, at_ns_);
  constexpr std::int64_t kStuck = 1'000'000'000;
  if (moment.inside && at_ns_ - job_.begin_ns(*moment.inside) >= kStuck) return true;
  auto now = seen(speaker.process, at_ns_);
  if (!now || (now->inside.doing != Doing::kInside && now->inside.doing != Doing::kRuns)) return false;
  return std::none_of(job_.processes[speaker.process].sightings.begin(),
                      job_.processes[speaker.process].sightings.end(), [&](const Sighting& earlier) {
                        return from_place(earlier.inside).doing == Doing::kAwaitsThread &&
                               job_.time_ns(speaker.process, earlier.last_ticks) >
                                   at_ns_ - waited_ns_ + detectors::kLongWait &&
                               job_.time_ns(speaker.process, earlier.first_ticks) <= at_ns_;
                      });
}

bool PastJudge::is_at_work(const Speaker& speaker) const {
  return detectors::saving(job_, speaker.process, at_ns_) != detectors::Saving::kNone ||
         detectors::computed(job_, speaker.process, at_ns_ - waited_ns_, at_ns_);
}

// It did nothing that would have brought it to its peers.
bool PastJudge::lingers(const Speaker& speaker, std::int64_t needed_ns) const {
  auto now = seen(speaker.process, at_ns_);
  if (now && now->sighting->inside == kStoppedPlace) return true;
  constexpr std::uint16_t kOwn = model::kMainThread;
  auto open_run = now ? detectors::OpenRun::kActedAtItsBegin : detectors::OpenRun::kMayHaveJustActed;
  std::int64_t acted_ns = detectors::last_act_ns(job_, speaker.process, {kOwn}, open_run, at_ns_);
  if (at_ns_ - acted_ns < detectors::kLongWait) return false;
  return waited_ns_ >= needed_ns * (comes_by_itself(speaker, acted_ns) ? detectors::kPatience : 1);
}

// Of what the job gave up itself nobody knows whether it would have come.
bool PastJudge::comes_by_itself(const Speaker& speaker, std::int64_t acted_ns) const {
  const detectors::Threads own{model::kMainThread};
  auto now = seen(speaker.process, at_ns_);
  bool on_descriptor = !now || detectors::awaits_a_peer(now->inside.what);
  if (detectors::awaits_own(job_, speaker.process, own, on_descriptor, at_ns_)) return true;
  return was_told_ &&
         ((on_descriptor && detectors::spoke_with_an_outsider(job_, speaker.process, own, at_ns_)) ||
          (now && detectors::sleeps(job_, speaker.process, own, now->inside.what, acted_ns, at_ns_)));
}

std::string PastJudge::where(const Moment& moment) const {
  if (moment.traceback) return detectors::at(detectors::program_place(job_, *moment.traceback));
  std::string place = moment.traced ? detectors::program_place(job_, *moment.traced) : "";
  return place.empty() ? "" : " at or after " + place;
}

void PastJudge::tell_silent(std::int32_t rank, const Speaker& speaker, findings::Finding& finding) const {
  Moment moment = find_moment(job_, speaker.process, at_ns_);
  auto now = seen(speaker.process, at_ns_);
  std::string did;
  if (now && now->sighting->inside == kStoppedPlace) {
    did = fmt::format("it was stopped by a signal from {} on", detectors::seconds(now->first_ns));
    finding.key += "\nstopped";
  } else if (moment.inside && !(now && detectors::is_run_of_transfers(job_.record(*moment.inside)))) {
    bool again = detectors::is_run(job_.record(*moment.inside));
    did = fmt::format("it {} {}{} from {} on", again ? "called" : "was inside",
                      detectors::call_and_file(job_, *moment.inside), again ? " again and again" : "",
                      detectors::seconds(job_.begin_ns(*moment.inside)));
  } else {  // looks a second apart do not see what it did in between
    did =
        fmt::format("it was seen inside {} from {} to {}", now->inside.what,
                    detectors::seconds(std::max(now->first_ns, moment.last ? job_.end_ns(*moment.last) : 0)),
                    detectors::seconds(now->last_ns));
  }
  did += where(moment);
  finding.key += "\n" + where(moment);
  finding.title += fmt::format("; rank {} never came: {}", rank, did);
  auto shown = moment.inside ? moment.inside : moment.traceback ? moment.traceback : moment.last;
  auto traced = moment.traceback ? moment.traceback : moment.traced;
  if (traced && (!shown || job_.record(*shown).stack == 0))
    finding.evidence.push_back(detectors::evidence_of(
        job_, *traced,
        moment.traceback ? "where it was when it was ended"
                         : "the last call of the missing rank whose place in the program is known"));
  if (shown) finding.evidence.push_back(detectors::evidence_of(job_, *shown, "never came: " + did));
  detectors::add_evidence_of_workers(job_, speaker.process, rank, at_ns_, finding);
}

findings::Finding PastJudge::tell(const Conversation& conversation, const Parts& parts) const {
  findings::Finding finding;
  std::vector<std::int32_t> waiters = ranks_of(parts.waiting);
  finding.slug = "hung-collective";
  finding.confidence = findings::Confidence::kLikely;
  finding.ranks = ranks_of(parts.silent);
  std::string place;  // of the first that is known: a rank may have made no call with a stack for long
  for (auto waiter = parts.waiting.begin(); place.empty() && waiter != parts.waiting.end(); ++waiter)
    place = where(find_moment(job_, waiter->second.process, at_ns_));
  finding.title = fmt::format("{} {} over TCP for {}{}, for {} until {}", detectors::list_ranks(waiters),
                              detectors::verb(waiters, "waits", "wait"), detectors::list_ranks(finding.ranks),
                              place, detectors::seconds(waited_ns_), detectors::seconds(at_ns_));
  for (const auto& [rank, speaker] : parts.waiting) {
    Moment moment = find_moment(job_, speaker.process, at_ns_);
    if (moment.traceback)
      finding.evidence.push_back(
          detectors::evidence_of(job_, *moment.traceback, "where it waited until it was ended"));
    else if (moment.traced)
      finding.evidence.push_back(
          detectors::evidence_of(job_, *moment.traced, "the last call before it waits whose place is known"));
  }
  finding.key = "over TCP" + place;
  for (const auto& [rank, speaker] : parts.silent) tell_silent(rank, speaker, finding);
  finding.advice = detectors::kAdviceOnMissingRanks;
  finding.first_ns = at_ns_ - waited_ns_;
  finding.last_ns = at_ns_;
  finding.place = {ranks_of(conversation.speakers), finding.first_ns, job_.duration_ns};
  return finding;
}

// Where each gave up to wait for its peers, of a job in which all do: they wait for each other. Nothing
// unless that is certain of each: since they last spoke it waited for a thread, and either one of those that
// speak ended that when the first rank gave up, and an exception came out of it, or the rank was killed
// there.
PastJudge::RanksByPlace PastJudge::find_apart(const Conversation& conversation) const {
  if (was_told_ || conversation.speakers.size() != static_cast<std::size_t>(job_.world_size)) return {};
  const std::int64_t from_ns = conversation.last_ns + detectors::kLongWait;
  RanksByPlace places;
  for (const auto& [rank, speaker] : conversation.speakers) {
    auto now = seen(speaker.process, at_ns_);
    bool waits = now && now->inside.doing == Doing::kAwaitsThread && now->first_ns < from_ns;
    if (!waits || speaker.went_on || left_well(job_.processes[speaker.process])) return {};
    Moment moment = find_moment(job_, speaker.process, at_ns_);
    if (!moment.traceback) continue;
    auto thread = woken_by(job_, speaker.process, from_ns);
    if (!thread || !speaker.threads.contains(*thread)) return {};
    if (job_.begin_ns(*moment.traceback) - at_ns_ >= detectors::kLongWait) return {};
    places[detectors::program_place(job_, *moment.traceback)].push_back(rank);
  }
  if (places.size() < 2) places.clear();
  return places;
}

findings::Finding PastJudge::tell_apart(const Conversation& conversation, const RanksByPlace& places) const {
  findings::Finding finding;
  finding.slug = "hung-collective";
  finding.confidence = findings::Confidence::kLikely;
  using OfPlace = RanksByPlace::value_type;
  std::vector<const OfPlace*> by_ranks;  // most first
  for (const OfPlace& of_place : places) by_ranks.push_back(&of_place);
  std::ranges::stable_sort(by_ranks, std::ranges::greater{},
                           [](const OfPlace* of_place) { return of_place->second.size(); });
  const std::size_t most = by_ranks.front()->second.size();
  const bool undecided = by_ranks[1]->second.size() == most;
  finding.key = "apart over TCP";
  for (const OfPlace* of_place : by_ranks) {
    const auto& [place, ranks] = *of_place;
    if (undecided || ranks.size() < most)
      finding.ranks.insert(finding.ranks.end(), ranks.begin(), ranks.end());
    finding.title +=
        fmt::format("{}{} {}{}", finding.title.empty() ? "" : ", ", detectors::list_ranks(ranks),
                    detectors::verb(ranks, "waits over TCP", "wait over TCP"), detectors::at(place));
    finding.key += detectors::at(place);
    for (std::int32_t rank : ranks)
      finding.evidence.push_back(detectors::evidence_of(
          job_, *find_moment(job_, conversation.speakers.at(rank).process, at_ns_).traceback,
          "where it waited until it gave up"));
  }
  std::ranges::sort(finding.ranks);
  finding.title += fmt::format(", for {} until {}: each for what the others do not do",
                               detectors::seconds(waited_ns_), detectors::seconds(at_ns_));
  finding.advice =
      "Let all ranks run the same collectives in the same order: look for one inside of a branch that only "
      "some ranks take (if rank == 0), behind an early return or an exception that was caught, in a loop of "
      "another length.";
  finding.first_ns = at_ns_ - waited_ns_;
  finding.last_ns = at_ns_;
  finding.place = {ranks_of(conversation.speakers), finding.first_ns, job_.duration_ns};
  return finding;
}

// False: those that waited went on, so that nobody hung.
bool PastJudge::find_parts(const Conversation& conversation, Parts& parts) const {
  std::int64_t silent_from = std::numeric_limits<std::int64_t>::max();
  for (const auto& [rank, speaker] : conversation.speakers) {
    if (!speaker.was_asked || !is_elsewhere(speaker)) continue;
    bool absent = !is_at_work(speaker) && lingers(speaker, conversation.needed_ns);
    (absent ? parts.silent : parts.busy).emplace(rank, speaker);
    silent_from = std::min(silent_from, speaker.sent_ns);
  }
  for (const auto& [rank, speaker] : conversation.speakers) {
    auto now = seen(speaker.process, at_ns_);
    if (!now || now->inside.doing != Doing::kAwaitsThread || speaker.sent_ns <= silent_from) continue;
    if (speaker.went_on) return false;
    if (was_told_ || !left_well(job_.processes[speaker.process])) parts.waiting.emplace(rank, speaker);
  }
  return true;
}

// "; rank 2 was at or after train.py:40 step": of a few, who reads it sees what differs.
std::string PastJudge::places_of(const std::map<std::int32_t, Speaker>& speakers) const {
  constexpr std::size_t kFew = 8;
  std::string text;
  if (speakers.size() > kFew) return text;
  for (const auto& [rank, speaker] : speakers)
    if (std::string place = where(find_moment(job_, speaker.process, at_ns_)); !place.empty())
      text += fmt::format("; rank {} was{}", rank, place);
  return text;
}

std::string PastJudge::tell_unjudged(const Conversation& conversation, const Parts& parts) const {
  std::string until =
      fmt::format("for {} until {}", detectors::seconds(waited_ns_), detectors::seconds(at_ns_));
  if (!parts.busy.empty() && !parts.waiting.empty())
    return fmt::format(
        "{} waited over TCP for {} {}, and what {} did looks like work: it computed, saved, made recorded "
        "calls, slept or waited for a child{}",
        detectors::list_ranks(ranks_of(parts.waiting)), detectors::list_ranks(ranks_of(parts.busy)), until,
        parts.busy.size() == 1 ? "that one" : "each of those", places_of(parts.busy));
  std::string nothing = fmt::format("nothing went over TCP between {} {}, and",
                                    detectors::list_ranks(ranks_of(conversation.speakers)), until);
  return nothing + (watched_ ? " who was missing is not known" + places_of(conversation.speakers)
                             : " where their threads were was not seen: while a job runs, `ddpscope status` "
                               "tells, or `run --on-hang`");
}

void PastJudge::judge(const Conversation& conversation, PastStalls& stalls) {
  at_ns_ = last_wait_ns(conversation);
  watched_ = at_ns_ != 0;
  if (!watched_) at_ns_ = end_ns_;
  waited_ns_ = at_ns_ - conversation.last_ns;
  if (waited_ns_ < conversation.needed_ns) return;
  Parts parts;
  if (watched_ && !find_parts(conversation, parts)) return;
  if (!parts.silent.empty() && !parts.waiting.empty())
    stalls.findings.push_back(tell(conversation, parts));
  else if (RanksByPlace places = watched_ ? find_apart(conversation) : RanksByPlace{}; !places.empty())
    stalls.findings.push_back(tell_apart(conversation, places));
  else
    stalls.unjudged.push_back(tell_unjudged(conversation, parts));
}

}  // namespace

PastStalls find_past_stalls(const Job& job) {
  PastStalls stalls;
  bool all_well = true;
  for (std::uint32_t i = 0; i < job.processes.size(); ++i)
    if (job.processes[i].role == model::Role::kRank)
      all_well = all_well && left_well(job.processes[i]) && job.told_ns(i) > job.duration_ns;
  stalls.judged = all_well;
  if (all_well) return stalls;
  const End end = find_end(job);
  for (const Conversation& conversation : find_conversations(job, end.at_ns))
    if (conversation.by_threads) {
      stalls.judged = true;
      PastJudge(job, end).judge(conversation, stalls);
    }
  return stalls;
}

}  // namespace ddpscope::live
