// Everything that comes from the trace is escaped.
#include "collector/commands/status_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "collector/detectors/hangs.h"
#include "collector/detectors/story.h"
#include "collector/reports/escape.h"
#include "collector/reports/phrases.h"

namespace ddpscope::commands {
namespace {

using live::Condition;
using live::Look;
using reports::escape;
using reports::seconds;

// Ranks that belong to the job and were not seen here.
std::size_t count_missing(const Look& look) {
  auto world = static_cast<std::size_t>(std::max(look.world_size, 0));
  return world - std::min(world, look.ranks.size());
}

// "2 of 4 ranks have"
std::string part_of(const Look& look, std::size_t ranks) {
  return fmt::format("{} of {} ranks {}", ranks, look.world_size, ranks == 1 ? "has" : "have");
}

std::string size_of(const Look& look) {
  std::size_t ranks = look.ranks.size();
  if (count_missing(look) > 0) return part_of(look, ranks) + " begun to record";
  return fmt::format("{} rank{}", ranks, ranks == 1 ? "" : "s");
}

// ": 1 and 3", as long as they are few.
std::string missing_of(const Look& look) {
  constexpr std::size_t kFew = 8;
  std::set<std::int32_t> known;
  for (const live::RankNow& rank : look.ranks) known.insert(rank.rank);
  std::vector<std::int32_t> missing;
  for (std::int32_t rank = 0; rank < look.world_size && missing.size() <= kFew; ++rank)
    if (!known.contains(rank)) missing.push_back(rank);
  return missing.empty() || missing.size() > kFew ? "" : ": " + detectors::list_numbers(missing);
}

bool ended_well(const live::RankNow& rank) { return rank.doing == "ended with exit code 0"; }

// "; ranks 0 and 2 have ended, and not with exit code 0", of a job of which others run on.
std::string losses_of(const Look& look) {
  std::vector<std::int32_t> lost;
  for (const live::RankNow& rank : look.ranks)
    if (rank.condition == Condition::kEnded && !ended_well(rank)) lost.push_back(rank.rank);
  if (lost.empty()) return "";
  return fmt::format("; {} {} ended, and not with exit code 0", detectors::list_ranks(lost),
                     detectors::verb(lost, "has", "have"));
}

std::string ends_of(const Look& look) {
  std::size_t well = 0;
  for (const live::RankNow& rank : look.ranks) well += ended_well(rank);
  return well == look.ranks.size()
             ? "all ended with exit code 0"
             : fmt::format("{} of them did not end with exit code 0", look.ranks.size() - well);
}

std::string judgement_of(const Look& look) {
  switch (look.judged) {
    case live::Judged::kCollectives:
      return "no rank waits longer than usual";
    case live::Judged::kTcp:
      return "no rank waits longer than usual, as far as TCP between the ranks shows: neither collectives of "
             "NCCL or MPI nor all of PyTorch's process groups are recorded";
    case live::Judged::kNothing:
      break;
  }
  return "not judged: " +
         (look.unjudged.empty()
              ? "neither collectives of NCCL or MPI nor all of PyTorch's process groups are recorded"
              : escape(look.unjudged.front()));
}

}  // namespace

std::string headline(const Look& look) {
  if (look.condition == Condition::kEnded)
    return fmt::format("ended: {}, {}; `ddpscope report` tells what went wrong, if anything did",
                       size_of(look), ends_of(look));
  if (look.stalls.empty())
    return fmt::format("running: {}, {:.1f} s{}; {}", size_of(look), seconds(look.now_ns), losses_of(look),
                       judgement_of(look));
  const live::Stall& worst = look.stalls.front();
  std::size_t missing = count_missing(look);
  std::string text =
      fmt::format("{} for {:.1f} s{}: {}", live::name_of(look.condition), seconds(worst.waited_ns),
                  missing ? ", and " + part_of(look, missing) + " not begun to record here" : "",
                  escape(worst.finding.title));
  if (look.stalls.size() > 1) text += fmt::format(" (and {} more)", look.stalls.size() - 1);
  return text;
}

std::string status_text(const Look& look) {
  std::string text = headline(look) + "\n";
  for (std::size_t i = 1; i < look.stalls.size(); ++i)
    text += fmt::format("  {} for {:.1f} s: {}\n", look.stalls[i].stuck ? "stuck" : "slow",
                        seconds(look.stalls[i].waited_ns), escape(look.stalls[i].finding.title));
  if (!look.stalls.empty() && !look.stalls.front().stuck)
    text += fmt::format(
        "  a wait there counts as stuck from {:.1f} s on if the missing rank does nothing, from {:.1f} s on "
        "if it waits for a time, a thread or child of its own or a server, from {:.1f} s on if it computes "
        "or saves\n",
        seconds(look.stalls.front().needed_ns), seconds(look.stalls.front().needed_ns * detectors::kPatience),
        seconds(look.stalls.front().needed_ns * detectors::kPatienceWithWork));
  for (const live::RankNow& rank : look.ranks) {
    text += fmt::format("  rank {:<3} {:8} {}: {}{}{}\n", rank.rank, live::name_of(rank.condition),
                        escape(rank.process), escape(rank.doing),
                        rank.place.empty() ? "" : " at " + escape(rank.place),
                        rank.now.empty() ? "" : "; now it " + escape(rank.now));
    for (const std::string& worker : rank.workers) text += fmt::format("           {}\n", escape(worker));
  }
  if (std::size_t missing = count_missing(look); missing > 0)
    text += fmt::format("  {} not begun to record here{}\n", part_of(look, missing), missing_of(look));
  if (!look.unseen.empty())
    text += fmt::format(
        "  {} cannot be asked from here what {}: `ddpscope status` on {} machine, or in {} container, can\n",
        detectors::list_ranks(look.unseen), detectors::verb(look.unseen, "it does now", "they do now"),
        detectors::verb(look.unseen, "its", "their"), detectors::verb(look.unseen, "its", "their"));
  for (const std::string& what : look.unjudged) text += fmt::format("  not judged: {}\n", escape(what));
  return text;
}

std::string gist(const Look& look) {
  std::string text = fmt::format("{} {}", live::name_of(look.condition), static_cast<int>(look.judged));
  for (const live::Stall& stall : look.stalls) text += fmt::format("\n{} {}", stall.stuck, stall.finding.key);
  for (const live::RankNow& rank : look.ranks) {
    bool ended = rank.condition == live::Condition::kEnded;  // `run` may tell later what ended it
    text += fmt::format("\n{} {}", rank.rank, ended ? rank.doing : live::name_of(rank.condition));
  }
  return text;
}

}  // namespace ddpscope::commands
