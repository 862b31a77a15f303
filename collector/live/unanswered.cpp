// Asks the conversations who was spoken to, and the machine who is elsewhere.
#include "collector/live/unanswered.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "collector/detectors/hangs.h"
#include "collector/detectors/story.h"
#include "collector/detectors/whereabouts.h"
#include "collector/live/conversations.h"

namespace ddpscope::live {
namespace {

using detectors::Whereabouts;
using model::Job;
using model::Process;

template <class T>
std::vector<std::int32_t> ranks_of(const std::map<std::int32_t, T>& by_rank) {
  std::vector<std::int32_t> ranks;
  for (const auto& [rank, of] : by_rank) ranks.push_back(rank);
  return ranks;
}

class Judge {
 public:
  Judge(const Job& job, const matching::Collectives& collectives, const std::vector<Inside>& inside)
      : job_(job), collectives_(collectives), inside_(inside) {}

  void judge(const Conversation& conversation, Heard& heard) const {
    detectors::OpenWait stall;
    stall.waited_ns = job_.duration_ns - conversation.last_ns;
    stall.needed_ns = conversation.needed_ns;
    if (stall.waited_ns * detectors::kPatience < stall.needed_ns) return;
    std::int64_t silent_from = std::numeric_limits<std::int64_t>::max();
    for (const auto& [rank, speaker] : conversation.speakers)
      if (speaker.was_asked && is_elsewhere(rank, speaker)) {
        stall.silent.emplace(rank, speaker.process);
        silent_from = std::min(silent_from, speaker.sent_ns);
      }
    for (const auto& [rank, speaker] : conversation.speakers)
      if (!stall.silent.contains(rank) && speaker.sent_ns > silent_from && awaits_thread(speaker.process))
        stall.waiting.emplace(rank, speaker.process);
    if (!stall.silent.empty() && !stall.waiting.empty()) {
      tell(conversation, silent_from, stall);
      heard.stalls.push_back(std::move(stall));
    } else if (stall.waited_ns >= stall.needed_ns) {
      heard.unjudged.push_back(fmt::format(
          "nothing went over TCP between {} for {}, and who is missing is not known",
          detectors::list_ranks(ranks_of(conversation.speakers)), detectors::seconds(stall.waited_ns)));
    }
  }

 private:
  bool awaits_thread(std::uint32_t process) const { return inside_[process].doing == Doing::kAwaitsThread; }

  Whereabouts whereabouts(std::int32_t rank, const Speaker& speaker) const {
    matching::Member member{};
    member.rank = rank;
    member.process = speaker.process;
    return detectors::find_whereabouts(job_, collectives_, member, speaker.sent_ns);
  }

  bool is_elsewhere(std::int32_t rank, const Speaker& speaker) const {
    const Process& process = job_.processes[speaker.process];
    if (process.has_ended() || whereabouts(rank, speaker).inside) return true;
    Doing doing = inside_[speaker.process].doing;
    return doing == Doing::kInside || doing == Doing::kRuns;
  }

  // Its main thread's last call with a stack: records of the wait itself come when it ends.
  std::optional<model::EventRef> place_of(std::int32_t rank, std::uint32_t process) const {
    return whereabouts(rank, {process}).traced;
  }

  void tell(const Conversation& conversation, std::int64_t silent_from, detectors::OpenWait& stall) const {
    findings::Finding& finding = stall.finding;
    std::vector<std::int32_t> waiting = ranks_of(stall.waiting), silent = ranks_of(stall.silent);
    finding.slug = "hung-collective";
    finding.confidence = findings::Confidence::kLikely;
    finding.ranks = silent;
    auto place = place_of(waiting.front(), stall.waiting.begin()->second);
    std::string where = place ? detectors::program_place(job_, *place) : "";
    finding.title = fmt::format("{} {} over TCP for {}{}", detectors::list_ranks(waiting),
                                detectors::verb(waiting, "waits", "wait"), detectors::list_ranks(silent),
                                where.empty() ? "" : " at or after " + where);
    for (std::int32_t rank : waiting)
      if (auto last = place_of(rank, stall.waiting.at(rank)))
        finding.evidence.push_back(
            detectors::evidence_of(job_, *last, "the last call before it waits whose place is known"));
    finding.key = "over TCP " + where;
    for (std::int32_t rank : silent) add_silent(rank, conversation.speakers.at(rank), finding);
    finding.advice = detectors::kAdviceOnMissingRanks;
    finding.first_ns = silent_from;
    finding.last_ns = job_.duration_ns;
    finding.place = {ranks_of(conversation.speakers), silent_from, job_.duration_ns};
  }

  void add_silent(std::int32_t rank, const Speaker& speaker, findings::Finding& finding) const {
    Whereabouts found = whereabouts(rank, speaker);
    finding.title += fmt::format("; rank {} never came: {}", rank, found.sentence);
    finding.key += "\n" + found.key;
    detectors::add_evidence_of(job_, found, rank, finding);
  }

  const Job& job_;
  const matching::Collectives& collectives_;
  const std::vector<Inside>& inside_;
};

}  // namespace

Heard find_unanswered(const Job& job, const matching::Collectives& collectives,
                      const std::vector<Inside>& inside) {
  Heard heard;
  for (const Conversation& conversation : find_conversations(job)) {
    if (!conversation.by_threads) continue;
    heard.anything = true;
    Judge(job, collectives, inside).judge(conversation, heard);
  }
  return heard;
}

}  // namespace ddpscope::live
