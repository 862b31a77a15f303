// Runs the layers that hung-collective needs on the latest part of a trace, and judges by what moves.
#include "collector/live/look.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "collector/alignment/align.h"
#include "collector/attribution/attribute.h"
#include "collector/detectors/at_work.h"
#include "collector/detectors/hung_collective.h"
#include "collector/detectors/hung_creation.h"
#include "collector/detectors/known_calls.h"
#include "collector/detectors/story.h"
#include "collector/detectors/whereabouts.h"
#include "collector/live/machine.h"
#include "collector/live/ranks_now.h"
#include "collector/live/unanswered.h"
#include "collector/matching/group_collectives.h"
#include "collector/ordering/group_waits.h"
#include "collector/reading/read_trace.h"

namespace ddpscope::live {
namespace {

using detectors::CallFacts;
using detectors::Hang;
using detectors::HangCause;
using detectors::KnownCalls;
using matching::Member;
using model::Life;
using model::Process;

bool can_be_asked(const Process& process) {
  return process.role == model::Role::kRank && process.life == Life::kRuns;
}

// Between the signal to end and the kill, where somebody kills: Kubernetes' and torchrun's default.
constexpr std::int64_t kGrace = 30'000'000'000;

// The same moment, read again, may differ by this: the clock's rate is known better from look to look.
constexpr std::int64_t kReadAgain = 1'000'000;

// And its severity.
findings::Finding with_identity(findings::Finding&& finding) {
  std::vector<findings::Finding> alone{std::move(finding)};
  attribution::attribute(alone);
  return std::move(alone.front());
}

class Looker {
 public:
  Looker(model::Job& job, const trace::Identity& here, const Look* earlier, std::int64_t monotonic_ns,
         std::int64_t realtime_ns)
      : job_(job), here_(here), earlier_(earlier), monotonic_ns_(monotonic_ns) {
    look_.at_ns = monotonic_ns;
    look_.now_ns = realtime_ns - static_cast<std::int64_t>(job.start_unix_ns);
    look_.world_size = job.world_size;
  }

  // Nothing if a rank ended between the reading and the question: how, the trace tells that is read anew.
  std::optional<Look> take();

 private:
  bool ask_machine();
  void extend_lives();
  void find_threads(const matching::Collectives& collectives);
  void find_signs();
  void look_inside_threads();
  void add_wait(detectors::OpenWait& wait);
  void judge(const CallFacts& nccl, const CallFacts& groups);
  void add_stalls(const CallFacts& facts, const ordering::StuckWork& stuck);
  void note_askers();
  void add_stall(const CallFacts& facts, const std::vector<Hang>& hangs, const detectors::HangCauses& found,
                 const HangCause& cause);
  std::vector<const Member*> culprits(const CallFacts& facts, const Hang& hang,
                                      const std::vector<std::uint32_t>& victims) const;
  bool lingers(std::uint32_t process, std::int64_t waited_ns, std::int64_t needed_ns) const;
  bool works(std::uint32_t process, const Sign& before) const;
  bool is_at_work(std::uint32_t process, const Sign& before) const;
  bool comes_by_itself(std::uint32_t process) const;
  bool is_told_to_end() const;
  bool stands_still(const CallFacts& facts, const Hang& hang, const std::vector<std::int32_t>& ranks) const;
  bool is_stuck(const CallFacts& facts, const std::vector<Hang>& hangs, const detectors::HangCauses& found,
                const HangCause& cause) const;
  void name_stopped(const CallFacts& facts, const Hang& hang, findings::Finding& finding) const;
  Condition condition() const;

  model::Job& job_;
  const trace::Identity& here_;
  const Look* earlier_;
  std::int64_t monotonic_ns_;
  std::vector<std::set<std::uint16_t>> threads_;  // by process: those that issue collectives
  std::vector<std::int32_t> tids_;                // by process: the thread to look at; 0 if none can be
  std::vector<Sign> signs_;                       // by process
  std::vector<Activity> activities_;              // by process
  std::vector<Inside> inside_;         // by process: of its main thread, or that issues collectives
  std::set<std::uint32_t> in_groups_;  // processes that wait for a call on a process group
  Waits waits_;
  Look look_;
};

bool Looker::ask_machine() {
  for (Process& process : job_.processes) {
    process.life = see(process.header(), here_);
    if (process.role == model::Role::kRank && process.life == Life::kGone && process.file.ended_since())
      return false;
    activities_.push_back(can_be_asked(process) ? activity_of(process.header().pid) : Activity{});
  }
  return true;
}

// A process that lives is in its open calls until now; now is before any file was read.
void Looker::extend_lives() {
  for (Process& process : job_.processes)
    if (!process.has_ended()) {
      const model::Host& host = job_.hosts[process.host];
      process.last_ns = host.id == here_.host_id ? monotonic_ns_ - host.origin_ns : look_.now_ns;
      job_.duration_ns = std::max(job_.duration_ns, process.last_ns);
    }
}

void Looker::find_threads(const matching::Collectives& collectives) {
  threads_.resize(job_.processes.size());
  for (const matching::Communicator& communicator : collectives.communicators)
    for (const Member& member : communicator.members)
      if (!member.calls.empty() || !member.point_to_point.empty())
        threads_[member.process].insert(detectors::issuing_thread(collectives, member));
}

void Looker::find_signs() {
  for (std::uint32_t i = 0; i < job_.processes.size(); ++i) {
    if (threads_[i].empty()) threads_[i].insert(1);
    const Process& process = job_.processes[i];
    const trace::FileHeader& h = process.header();
    tids_.push_back(can_be_asked(process) ? find_tid(process, threads_[i]) : 0);
    signs_.push_back({detectors::last_act_ns(job_, i, threads_[i], detectors::OpenRun::kActedAtItsBegin),
                      activities_[i], can_be_asked(process) ? moved_bytes(h.pid, tids_[i]) : 0});
    look_.signs[{h.host_id, h.pid, h.start_time}] = signs_.back();
  }
}

// Of ranks that run here.
void Looker::look_inside_threads() {
  for (std::uint32_t i = 0; i < job_.processes.size(); ++i) {
    Process& process = job_.processes[i];
    inside_.push_back(can_be_asked(process) ? look_inside(process.header().pid, tids_[i]) : Inside{});
    process.doing = to_text(inside_.back());
  }
}

// Who stands in the way, and not only because it waits elsewhere.
std::vector<const Member*> Looker::culprits(const CallFacts& facts, const Hang& hang,
                                            const std::vector<std::uint32_t>& victims) const {
  const auto& members = facts.collectives.communicators[hang.communicator].members;
  std::vector<const Member*> found;
  for (std::uint32_t m : hang.missing())
    if (!std::count(victims.begin(), victims.end(), m)) found.push_back(&members[m]);
  for (std::uint32_t m = 0; found.empty() && m < members.size(); ++m)
    if (job_.processes[members[m].process].life == Life::kStopped) found.push_back(&members[m]);
  return found;
}

// It does nothing that would bring it to its peers.
bool Looker::lingers(std::uint32_t index, std::int64_t waited_ns, std::int64_t needed_ns) const {
  const Process& process = job_.processes[index];
  if (process.has_ended() || process.life == Life::kStopped) return true;
  const trace::FileHeader& h = process.header();
  auto before = earlier_ ? earlier_->signs.find({h.host_id, h.pid, h.start_time}) : Signs::const_iterator{};
  if (!earlier_ || before == earlier_->signs.end()) return false;
  const Sign& now = signs_[index];
  if (now.acted_ns - before->second.acted_ns > kReadAgain ||
      process.last_ns - now.acted_ns < detectors::kLongWait ||
      now.moved >= before->second.moved + kLeastMoved)
    return false;
  std::int64_t patience = is_at_work(index, before->second) ? detectors::kPatienceWithWork
                          : comes_by_itself(index)          ? detectors::kPatience
                                                            : 1;
  return waited_ns >= patience * needed_ns;
}

// On a crowded machine it gets less of a processor than it asks for. One of many threads may just have looked
// whether something came.
bool Looker::works(std::uint32_t index, const Sign& before) const {
  const Process& process = job_.processes[index];
  const Activity& now = activities_[index];
  return inside_[index].doing == Doing::kRuns || (now.runs && before.activity.runs) ||
         (now.cpu_ns - before.activity.cpu_ns) * 2 > look_.at_ns - earlier_->at_ns ||
         detectors::saving(job_, index, process.last_ns) == detectors::Saving::kMoves;
}

// Who asks and asks inside MPI may wait for a message of any rank that does not.
bool Looker::is_at_work(std::uint32_t index, const Sign& before) const {
  auto waits = [&](std::uint32_t i) { return detectors::waits_by_mpi(job_, i, threads_[i]); };
  if (!waits(index)) return works(index, before);
  for (std::uint32_t i = 0; i < job_.processes.size(); ++i) {
    if (i == index || job_.processes[i].role != model::Role::kRank || waits(i)) continue;
    const trace::FileHeader& h = job_.processes[i].header();
    auto earlier = earlier_->signs.find({h.host_id, h.pid, h.start_time});
    if (earlier == earlier_->signs.end() || works(i, earlier->second)) return true;
  }
  return false;
}

// It waits for what its device or others of its own do, for a server, or for a time. Of other hosts nobody
// knows.
bool Looker::comes_by_itself(std::uint32_t index) const {
  const std::set<std::uint16_t>& threads = threads_[index];
  const Inside& inside = inside_[index];
  bool on_descriptor = inside.doing == Doing::kInside && detectors::awaits_a_peer(inside.what);
  const Process& process = job_.processes[index];
  return process.life == Life::kNotAsked ||
         detectors::saving(job_, index, process.last_ns) == detectors::Saving::kInside ||
         detectors::device_wait(job_, index, threads) ||
         (inside.doing == Doing::kAwaitsThread && !in_groups_.contains(index)) ||
         detectors::awaits_own(job_, index, threads, on_descriptor) ||
         (on_descriptor && detectors::spoke_with_an_outsider(job_, index, threads)) ||
         detectors::sleeps(job_, index, threads, inside.what, signs_[index].acted_ns);
}

// Somebody has just sent it a signal to end, which it may take its time over, or only note.
bool Looker::is_told_to_end() const {
  for (std::uint32_t i = 0; i < job_.processes.size(); ++i)
    if (job_.processes[i].role == model::Role::kRank && job_.told_ns(i) <= look_.now_ns &&
        look_.now_ns - job_.told_ns(i) < kGrace)
      return true;
  return false;
}

// Of the ranks whose thread only seems to wait for another one.
bool Looker::stands_still(const CallFacts& facts, const Hang& hang,
                          const std::vector<std::int32_t>& ranks) const {
  const auto& members = facts.collectives.communicators[hang.communicator].members;
  std::vector<std::uint32_t> missing = hang.missing();
  return std::all_of(missing.begin(), missing.end(), [&](std::uint32_t m) {
    return !std::count(ranks.begin(), ranks.end(), members[m].rank) ||
           lingers(members[m].process, hang.longest_wait, hang.needed_wait);
  });
}

bool Looker::is_stuck(const CallFacts& facts, const std::vector<Hang>& hangs,
                      const detectors::HangCauses& found, const HangCause& cause) const {
  if (!earlier_ || is_told_to_end()) return false;
  auto counts = [&](std::size_t hang) { return hangs[hang].counts; };
  if (std::none_of(cause.chain.begin(), cause.chain.end(), counts)) return false;
  if (cause.is_circle())
    return std::all_of(cause.chain.begin(), cause.chain.end(), [&](std::size_t hang) {
      return stands_still(facts, hangs[hang], cause.by_another_thread);
    });
  const Hang& hang = hangs[cause.chain.front()];
  auto at_fault = culprits(facts, hang, found.victims[cause.chain.front()]);
  // All came: what runs before it on some device may still take its time.
  if (at_fault.empty())
    return hang.longest_wait >= detectors::kPatience * hang.needed_wait || !hang.missing().empty();
  // Who has issued another call in its place cannot issue this one any more, whatever it is at.
  const auto& members = facts.collectives.communicators[hang.communicator].members;
  auto issued_another = [&](const Member* m) {
    return std::ranges::any_of(hang.other, [&](std::uint32_t other) { return &members[other] == m; });
  };
  return std::any_of(at_fault.begin(), at_fault.end(), [&](const Member* m) {
    return issued_another(m) || lingers(m->process, hang.longest_wait, hang.needed_wait);
  });
}

// It issued the call and was stopped afterwards.
void Looker::name_stopped(const CallFacts& facts, const Hang& hang, findings::Finding& finding) const {
  if (!hang.missing().empty()) return;
  std::vector<std::int32_t> stopped;
  for (const Member* member : culprits(facts, hang, {})) stopped.push_back(member->rank);
  if (stopped.empty()) return;
  std::sort(stopped.begin(), stopped.end());
  finding.title += fmt::format("; {} {} stopped by a signal", detectors::list_ranks(stopped),
                               detectors::verb(stopped, "is", "are"));
  finding.ranks = stopped;
}

void Looker::add_stall(const CallFacts& facts, const std::vector<Hang>& hangs,
                       const detectors::HangCauses& found, const HangCause& cause) {
  const Hang& root = hangs[cause.chain.front()];
  Stall stall;
  std::vector<std::size_t> all = cause.chain;
  all.insert(all.end(), cause.others.begin(), cause.others.end());
  for (std::size_t h : all) stall.waited_ns = std::max(stall.waited_ns, hangs[h].longest_wait);
  stall.needed_ns = root.needed_wait;
  stall.stuck = is_stuck(facts, hangs, found, cause);
  if (!stall.stuck && stall.waited_ns * detectors::kPatience < stall.needed_ns) return;
  stall.finding = detectors::tell_hang(facts, hangs, found, cause);
  name_stopped(facts, root, stall.finding);
  stall.finding = with_identity(std::move(stall.finding));
  Condition condition = stall.stuck ? Condition::kStuck : Condition::kSlow;
  std::set<std::int32_t> waiting;
  for (std::size_t h : all) {
    const auto& members = facts.collectives.communicators[hangs[h].communicator].members;
    for (std::uint32_t m : hangs[h].waiting) {
      std::uint32_t call = hangs[h].issued(facts, m), wait = facts.device_order.completions[call].blocked;
      waits_[members[m].rank] = {condition, facts.device_order.waits[wait].event,
                                 facts.collectives.calls[call]};
      waiting.insert(members[m].rank);
    }
  }
  for (std::int32_t rank : stall.finding.ranks) waits_.emplace(rank, Wait{condition, {}, {}});
  stall.waiting.assign(waiting.begin(), waiting.end());
  look_.stalls.push_back(std::move(stall));
}

// They wait, and none of those that they wait for comes.
void Looker::add_wait(detectors::OpenWait& wait) {
  auto lingers_there = [&](const auto& of) { return lingers(of.second, wait.waited_ns, wait.needed_ns); };
  bool stuck = earlier_ && !is_told_to_end() && wait.waited_ns >= wait.needed_ns &&
               (wait.silent.empty() || std::any_of(wait.silent.begin(), wait.silent.end(), lingers_there));
  Stall stall{with_identity(std::move(wait.finding)), stuck, wait.waited_ns, wait.needed_ns, {}};
  Condition condition = stuck ? Condition::kStuck : Condition::kSlow;
  for (const auto& [rank, process] : wait.waiting) {
    stall.waiting.push_back(rank);
    waits_.emplace(rank, Wait{condition, {}, {}});
  }
  for (const auto& [rank, process] : wait.silent) waits_.emplace(rank, Wait{condition, {}, {}});
  look_.stalls.push_back(std::move(stall));
}

// By what is recorded of collectives; where that explains no wait, and none of NCCL is recorded, by what goes
// over TCP, too.
void Looker::judge(const CallFacts& nccl, const CallFacts& groups) {
  for (const ordering::HostWait& wait : groups.device_order.waits)
    if (wait.end_ns == ordering::kNever) in_groups_.insert(wait.event.process);
  add_stalls(nccl, ordering::StuckWork(job_, nccl.collectives, nccl.device_order));
  add_stalls(groups, {});
  bool any_nccl = !nccl.collectives.calls.empty();
  bool all_groups = matching::knows_all_groups(job_, groups.collectives);
  if (any_nccl || all_groups || !look_.stalls.empty()) look_.judged = Judged::kCollectives;
  if (any_nccl || !look_.stalls.empty()) return;
  Heard heard = find_unanswered(job_, nccl.collectives, inside_);
  for (detectors::OpenWait& wait : heard.stalls) add_wait(wait);
  if (all_groups) return;
  if (heard.anything && heard.unjudged.empty()) look_.judged = Judged::kTcp;
  for (std::string& what : heard.unjudged) look_.unjudged.push_back(std::move(what));
}

void Looker::add_stalls(const CallFacts& facts, const ordering::StuckWork& stuck) {
  std::vector<Hang> hangs = detectors::find_hangs(facts, stuck);
  detectors::HangCauses found = detectors::find_causes(facts, stuck, hangs);
  for (const HangCause& cause : found.causes) add_stall(facts, hangs, found, cause);
  for (detectors::OpenWait& wait : detectors::find_open_creations(facts, stuck))
    if (wait.waited_ns * detectors::kPatience >= wait.needed_ns) add_wait(wait);
  for (const Hang& hang : hangs)
    if (hang.unknown && hang.missing().empty())
      look_.unjudged.push_back(
          fmt::format("{}: calls of some rank are not known", matching::to_text(hang.call(facts).signature)));
}

// Who waits by questions alone leaves no wait that never ends.
void Looker::note_askers() {
  for (std::uint32_t i = 0; i < job_.processes.size(); ++i) {
    const Process& process = job_.processes[i];
    if (process.role != model::Role::kRank || process.has_ended() || waits_.contains(process.rank)) continue;
    auto asking = find_asking(job_, i, threads_[i], signs_[i].acted_ns);
    if (!asking) continue;
    look_.unjudged.push_back(fmt::format("rank {} has only called {} for {}: what it waits for is not known",
                                         process.rank, asking->question, detectors::seconds(asking->for_ns)));
    look_.judged = Judged::kNothing;
  }
}

Condition Looker::condition() const {
  bool ended = false, lives = false;
  for (const Process& process : job_.processes) {
    if (process.role != model::Role::kRank) continue;
    (process.has_ended() ? ended : lives) = true;
  }
  if (ended && !lives) return Condition::kEnded;
  if (look_.stalls.empty()) return Condition::kRunning;
  return look_.stalls.front().stuck ? Condition::kStuck : Condition::kSlow;
}

std::optional<Look> Looker::take() {
  if (!ask_machine()) return std::nullopt;
  extend_lives();
  detectors::CodePlaces places(job_);
  matching::Collectives collectives = matching::find_collectives(job_);
  const KnownCalls nccl(job_, collectives, ordering::find_device_order(job_, collectives), places);
  matching::Collectives group_calls = matching::find_group_collectives(job_);
  const KnownCalls groups(job_, group_calls, ordering::find_group_waits(job_, group_calls), places);
  find_threads(collectives);
  find_threads(group_calls);
  find_signs();
  look_inside_threads();
  look_.condition = condition();
  if (look_.condition != Condition::kEnded) {
    judge(nccl.facts(), groups.facts());
    note_askers();
    std::stable_sort(look_.stalls.begin(), look_.stalls.end(), [](const Stall& a, const Stall& b) {
      return std::pair(!a.stuck, -a.waited_ns) < std::pair(!b.stuck, -b.waited_ns);
    });
  }
  look_.condition = condition();
  for (const Process& process : job_.processes)
    if (process.role == model::Role::kRank && process.life == Life::kNotAsked && !process.has_ended())
      look_.unseen.push_back(process.rank);
  std::sort(look_.unseen.begin(), look_.unseen.end());
  look_.ranks = find_ranks_now(job_, threads_, waits_, places);
  return std::move(look_);
}

}  // namespace

const char* name_of(Condition condition) {
  static constexpr const char* kNames[] = {"running", "slow", "stuck", "ended"};
  return kNames[static_cast<std::size_t>(condition)];
}

Result<Look> look_at(const std::filesystem::path& trace, const trace::Identity& here, const Look* earlier) {
  for (;;) {
    auto monotonic_ns = now_ns<std::chrono::steady_clock>(),
         realtime_ns = now_ns<std::chrono::system_clock>();
    reading::Silent silent;
    auto reading = reading::read_trace(trace, silent, -1, trace::Extent::kLatest);
    if (!reading) return reading.error();
    alignment::align(reading->job);
    auto look = Looker(reading->job, here, earlier, monotonic_ns, realtime_ns).take();
    if (!look) continue;
    look->errors = std::move(reading->errors);
    return std::move(*look);
  }
}

Result<Look> look_twice(const std::filesystem::path& trace, const trace::Identity& here) {
  auto first = look_at(trace, here, nullptr);
  if (!first || first->stalls.empty()) return first;
  auto may_be_stuck = [](const Stall& stall) { return stall.waited_ns >= detectors::kLongWait; };
  if (std::none_of(first->stalls.begin(), first->stalls.end(), may_be_stuck)) return first;
  constexpr auto kBetween = std::chrono::milliseconds(250);
  std::this_thread::sleep_for(kBetween);
  return look_at(trace, here, &*first);
}

}  // namespace ddpscope::live
