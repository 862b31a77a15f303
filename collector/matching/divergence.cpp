// Walks all members of a communicator side by side; where their next calls differ, the cheapest edit decides.
#include "collector/matching/divergence.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "collector/matching/calls_made_alone.h"
#include "collector/matching/edit_script.h"
#include "collector/matching/precedent.h"

namespace ddpscope::matching {
namespace {

using Group = std::vector<std::uint32_t>;  // members whose next calls are the same

constexpr std::size_t kMaxDivergences = 256;  // of one communicator: with more there is nothing in common

// A barrier, or what NCCL's barriers are.
bool of_one_element(const CallForm& call) {
  if (call.signature.operation == trace::Operation::kGroupBarrier) return true;
  return call.signature.operation == trace::Operation::kAllReduce && call.signature.count == 1;
}

class Walk {
 public:
  Walk(const Collectives& all, std::uint32_t communicator, Divergences& out)
      : all_(all), index_(communicator), members_(all.communicators[communicator].members), out_(out) {
    next_.resize(members_.size());
    told_short_.resize(members_.size());
    for (std::uint32_t m = 0; m < members_.size(); ++m)
      if (members_[m].incomplete) leave_out(m);
  }

  void run() {
    while (found_ < kMaxDivergences && step()) {
    }
  }

 private:
  void leave_out(std::uint32_t member) {
    next_[member] = members_[member].calls.size();
    told_short_[member] = true;
  }
  bool step();  // false: all sequences are at their end
  bool agree() const;
  bool ended(std::uint32_t member) const { return next_[member] >= members_[member].calls.size(); }
  const CallForm& head(std::uint32_t member, std::size_t ahead = 0) const {
    return all_.form_at(members_[member], next_[member] + ahead);
  }
  std::size_t left(std::uint32_t member) const { return members_[member].calls.size() - next_[member]; }
  std::uint32_t number(std::uint32_t member) const {
    return ended(member) ? kNone : members_[member].calls[next_[member]];
  }

  bool same(const CallForm& a, const CallForm& b) const;
  int cost(const CallForm& a, const CallForm& b) const;
  std::vector<Group> group_heads(std::vector<std::uint32_t>& at_end) const;
  void tell_short(const std::vector<std::uint32_t>& at_end, std::uint32_t peer);
  void resolve(std::vector<Group>& groups);
  Step compare(const Group& right, const Group& odd) const;
  std::uint32_t longest_of(const Group& group) const;
  bool differ_in_place_only(std::uint32_t a, std::uint32_t b) const;
  bool stand_for_each_other(std::uint32_t a, std::uint32_t b, Step step) const;
  std::size_t agreement(std::uint32_t a, std::size_t ahead_a, std::uint32_t b, std::size_t ahead_b) const;
  CallMadeAlone made_alone(Step step, const Group& odd, const Group& right) const;
  bool is_told(Step step, const Group& odd, const Group& right);
  void tell(Step step, const Group& odd, const Group& right, bool tie);
  void add(DivergenceKind kind, const Group& odd, const Group& others, bool decided);
  void tell_missing(const Group& without, const Group& with, bool tie);
  void tell_different(const std::vector<Group>& odd, const Group& others, bool tie);
  void tell_different(const Group& odd, const Group& others, bool tie);
  enum class Surplus : std::uint8_t { kYes, kNo, kUnknown };
  bool repeats(const CallForm& a, const CallForm& b) const;
  Surplus judge_surplus(std::uint32_t member, std::uint32_t without) const;
  Precedent precedent(std::uint32_t a, std::uint32_t b) const;
  Precedent precedent_in(const Member& member, std::size_t here, const CallForm& call,
                         const CallForm& other) const;
  std::pair<std::size_t, std::size_t> kinship(const CallForm& call) const;

  const Collectives& all_;
  std::uint32_t index_;
  const std::vector<Member>& members_;
  Divergences& out_;
  std::vector<std::size_t> next_;
  std::vector<bool> told_short_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> equal_sites_;  // ranks may make one call from two places
  CallsMadeAlone made_alone_{[this](const CallForm& a, const CallForm& b) { return same(a, b); }};
  std::size_t found_ = 0;
};

bool Walk::same(const CallForm& a, const CallForm& b) const {
  if (!(a.signature == b.signature)) return false;
  return a.site == b.site || a.site == 0 || b.site == 0 || equal_sites_.count(std::minmax(a.site, b.site));
}

int Walk::cost(const CallForm& a, const CallForm& b) const {
  if (same(a, b)) return 0;
  if (a.signature == b.signature) return kOtherSite;
  return a.site != 0 && a.site == b.site ? kSamePlace : kUnrelated;
}

std::vector<Group> Walk::group_heads(std::vector<std::uint32_t>& at_end) const {
  std::vector<Group> groups;
  for (std::uint32_t m = 0; m < members_.size(); ++m) {
    if (ended(m)) {
      at_end.push_back(m);
      continue;
    }
    auto fits = [&](const Group& group) { return same(head(group.front()), head(m)); };
    auto group = std::find_if(groups.begin(), groups.end(), fits);
    if (group == groups.end())
      groups.push_back({m});
    else
      group->push_back(m);
  }
  return groups;
}

// As nearly always.
bool Walk::agree() const {
  for (std::uint32_t m = 0; m < members_.size(); ++m)
    if (ended(m) || !same(head(0), head(m))) return false;
  return true;
}

bool Walk::step() {
  if (agree()) {
    for (std::size_t& next : next_) ++next;
    return true;
  }
  std::vector<std::uint32_t> at_end;
  std::vector<Group> groups = group_heads(at_end);
  if (groups.empty()) return false;
  if (groups.size() > 1) {
    resolve(groups);
    return true;
  }
  tell_short(at_end, groups[0].front());
  for (std::uint32_t member : groups[0]) ++next_[member];
  return true;
}

// The one call that is left to a side, of which the other, which has come to its end just now, made it alone
// before. (Of several that are left each may belong to the next round.)
void Walk::tell_short(const std::vector<std::uint32_t>& at_end, std::uint32_t peer) {
  bool now = std::none_of(at_end.begin(), at_end.end(), [&](std::uint32_t m) { return told_short_[m]; });
  if (now && left(peer) == 1)
    if (auto told = made_alone_.take_counterpart_of_end(peer, head(peer), next_[peer]))
      out_.divergences[*told].other_order = true;
  for (std::uint32_t member : at_end) {
    if (told_short_[member]) continue;
    told_short_[member] = true;
    out_.short_members.push_back({index_, member, number(peer)});
  }
}

// The largest group says what is right. Calls that only an odd group makes are consumed first,
// alone; else the reference moves on, and with it all but the groups that leave its call out.
void Walk::resolve(std::vector<Group>& groups) {
  std::ranges::stable_sort(groups, std::greater{}, [](const Group& group) { return group.size(); });
  const Group& right = groups[0];
  bool tie = groups.size() == 2 && groups[1].size() == right.size();
  std::vector<Step> steps(groups.size(), Step::kMatch);
  for (std::size_t g = 1; g < groups.size(); ++g) steps[g] = compare(right, groups[g]);
  bool surplus = std::count(steps.begin(), steps.end(), Step::kOnlySecond) > 0;
  std::vector<Group> advance;
  std::map<std::uint32_t, std::vector<Group>> different;  // by place in the code
  for (std::size_t g = 1; g < groups.size(); ++g) {
    if (surplus && steps[g] != Step::kOnlySecond) continue;
    if (steps[g] == Step::kDifferent)
      different[head(groups[g].front()).site].push_back(groups[g]);
    else if (!is_told(steps[g], groups[g], right))
      tell(steps[g], groups[g], right, tie);
    if (steps[g] != Step::kOnlyFirst) advance.push_back(groups[g]);
  }
  for (const auto& [site, odd] : different) tell_different(odd, right, tie);
  if (!surplus) advance.push_back(right);
  for (const Group& group : advance)
    for (std::uint32_t member : group) ++next_[member];
}

Step Walk::compare(const Group& right, const Group& odd) const {
  std::uint32_t a = longest_of(right), b = longest_of(odd);
  if (differ_in_place_only(a, b)) return Step::kMatch;
  Step step = first_step(left(a), left(b),
                         [&](std::size_t i, std::size_t j) { return cost(head(a, i), head(b, j)); });
  if ((step == Step::kOnlyFirst || step == Step::kOnlySecond) && stand_for_each_other(a, b, step))
    return Step::kDifferent;
  if (step != Step::kOnlyOne) return step;
  for (Step way : {Step::kOnlyFirst, Step::kOnlySecond})
    if (made_alone_.counterpart(made_alone(way, odd, right))) return way;
  // One side leaves a call out, or the other makes one once more: told of the barrier if one is a barrier,
  // else of what comes in its turn.
  bool a_is_one = of_one_element(head(a)), b_is_one = of_one_element(head(b));
  if (a_is_one != b_is_one) return a_is_one ? Step::kOnlyFirst : Step::kOnlySecond;
  return precedent(b, a).beats(precedent(a, b)) ? Step::kOnlySecond : Step::kOnlyFirst;
}

// Of its members that which goes on longest: where a rank's trace ends nothing differs any more.
std::uint32_t Walk::longest_of(const Group& group) const {
  return *std::max_element(group.begin(), group.end(),
                           [&](std::uint32_t a, std::uint32_t b) { return left(a) < left(b); });
}

// Ranks that call the same from other places in the code, up to the end, as where they take turns at two
// lines: NCCL makes no difference between them.
bool Walk::differ_in_place_only(std::uint32_t a, std::uint32_t b) const {
  constexpr std::size_t kMost = 65'536;  // calls, as it is asked again where places differ again
  if (left(a) != left(b) || left(a) > kMost) return false;
  for (std::size_t i = 0; i < left(a); ++i)
    if (!(head(a, i).signature == head(b, i).signature)) return false;
  return true;
}

// In a long run of equal calls one more and another in place of one look alike at first: what comes behind
// the run tells, and if nothing does, whether the two calls are of one place in the code.
bool Walk::stand_for_each_other(std::uint32_t a, std::uint32_t b, Step step) const {
  std::size_t in_place = agreement(a, 1, b, 1);
  std::size_t apart = step == Step::kOnlyFirst ? agreement(a, 1, b, 0) : agreement(a, 0, b, 1);
  if (std::min(in_place, apart) < kLookAhead - 1) return false;
  return in_place != apart ? in_place > apart : cost(head(a), head(b)) == kSamePlace;
}

// How many calls are the same from there on; if nothing differs up to an end: as many as can be.
std::size_t Walk::agreement(std::uint32_t a, std::size_t ahead_a, std::uint32_t b,
                            std::size_t ahead_b) const {
  std::size_t calls = std::min(left(a) - ahead_a, left(b) - ahead_b), same_calls = 0;
  while (same_calls < calls && same(head(a, ahead_a + same_calls), head(b, ahead_b + same_calls)))
    ++same_calls;
  return calls > 0 && same_calls == calls ? all_.calls.size() : same_calls;
}

// What one of the two makes that the other does not. To be told next, if it is.
CallMadeAlone Walk::made_alone(Step step, const Group& odd, const Group& right) const {
  bool by_odd = step == Step::kOnlySecond;
  std::uint32_t maker = (by_odd ? odd : right).front(), other = (by_odd ? right : odd).front();
  return {odd, by_odd, &head(maker), next_[maker], next_[other], out_.divergences.size()};
}

// What is told already: calls in another order, and all but the first call of a stretch that one side has
// alone (a step more, an evaluation left out).
bool Walk::is_told(Step step, const Group& odd, const Group& right) {
  if (step != Step::kOnlyFirst && step != Step::kOnlySecond) return false;
  CallMadeAlone call = made_alone(step, odd, right);
  if (auto told = made_alone_.take_counterpart(call)) {
    out_.divergences[*told].other_order = true;
    return true;
  }
  return made_alone_.add(std::move(call));
}

void Walk::tell(Step step, const Group& odd, const Group& right, bool tie) {
  if (step == Step::kMatch) equal_sites_.insert(std::minmax(head(right[0]).site, head(odd[0]).site));
  if (step == Step::kOnlyFirst) tell_missing(odd, right, tie);
  if (step != Step::kOnlySecond) return;
  tie ? tell_missing(right, odd, tie) : add(DivergenceKind::kSurplus, odd, right, true);
}

void Walk::add(DivergenceKind kind, const Group& odd, const Group& others, bool decided) {
  Divergence divergence{kind, index_, odd, {}, number(others.front()), number(odd.front()), decided};
  for (std::uint32_t m = 0; m < members_.size(); ++m) divergence.calls.push_back(number(m));
  out_.divergences.push_back(std::move(divergence));
  ++found_;
}

// Two sides of one size: one leaves the call out, or the other makes it once too often.
void Walk::tell_missing(const Group& without, const Group& with, bool tie) {
  if (!tie) return add(DivergenceKind::kMissing, without, with, true);
  Surplus surplus = judge_surplus(with.front(), without.front());
  if (surplus == Surplus::kYes) return add(DivergenceKind::kSurplus, with, without, true);
  add(DivergenceKind::kMissing, without, with, surplus == Surplus::kNo);
}

// Groups that call otherwise from one place in the code are one bug; if more members do than agree, nothing
// tells who is odd.
void Walk::tell_different(const std::vector<Group>& odd, const Group& others, bool tie) {
  if (odd.size() == 1) return tell_different(odd.front(), others, tie);
  std::set<std::uint32_t> all;
  for (const Group& group : odd) all.insert(group.begin(), group.end());
  add(DivergenceKind::kDifferent, {all.begin(), all.end()}, others, others.size() >= all.size());
}

// Between two sides of one size the odd one is that which goes on otherwise than ever before, else that whose
// call is stranger to what this communicator has seen.
void Walk::tell_different(const Group& odd, const Group& others, bool tie) {
  // A call of one element (a barrier, a scalar) against one that moves data: they are no variants of each
  // other.
  std::uint32_t a = odd.front(), b = others.front();
  bool one = of_one_element(head(a)), other_one = of_one_element(head(b));
  if (one && !other_one)
    return tie ? tell_missing(others, odd, tie) : add(DivergenceKind::kSurplus, odd, others, true);
  if (other_one && !one) return tell_missing(odd, others, tie);
  if (!tie) return add(DivergenceKind::kDifferent, odd, others, true);
  Precedent of_odd = precedent(a, b), of_others = precedent(b, a);
  if (of_odd.beats(of_others)) return add(DivergenceKind::kDifferent, others, odd, true);
  if (of_others.beats(of_odd)) return add(DivergenceKind::kDifferent, odd, others, true);
  auto kin_odd = kinship(head(a)), kin_others = kinship(head(b));
  bool swapped = kin_others < kin_odd;
  // A stranger may be where the other goes on too long: not if they differ in reduction or root alone or are
  // of one place, or if both agree behind it.
  const Signature &of_a = head(a).signature, &of_b = head(b).signature;
  bool same_data =
      of_a.operation == of_b.operation && of_a.count == of_b.count && of_a.datatype == of_b.datatype;
  bool variants = same_data || (head(a).site != 0 && head(a).site == head(b).site);
  bool tells = kin_odd != kin_others && (variants || agreement(a, 1, b, 1) > 0);
  add(DivergenceKind::kDifferent, swapped ? others : odd, swapped ? odd : others, tells);
}

// Whether the member's next call is one too many, or the other leaves it out: the one that comes in its turn
// is right. One that is made nowhere else is too many if all goes on behind it as without it, or if it
// repeats the call right before it.
Walk::Surplus Walk::judge_surplus(std::uint32_t member, std::uint32_t without) const {
  Precedent own = precedent(member, without), other = precedent(without, member);
  if (own.any()) {
    if (other.beats(own)) return Surplus::kYes;
    return other.any() && own.beats(other) ? Surplus::kNo : Surplus::kUnknown;
  }
  if (own.follows) return Surplus::kUnknown;
  bool agree_behind = agreement(member, 1, without, 0) > 0;
  if (other.beats(own) && (other.longest > 0 || agree_behind)) return Surplus::kYes;
  bool repeated =
      next_[member] > 0 && repeats(all_.form_at(members_[member], next_[member] - 1), head(member));
  return repeated ? Surplus::kYes : Surplus::kUnknown;
}

// For the next call of `a`, in its own calls and in those of `b`, which goes on differently.
Precedent Walk::precedent(std::uint32_t a, std::uint32_t b) const {
  Precedent own = precedent_in(members_[a], next_[a], head(a), head(b));
  Precedent other = precedent_in(members_[b], next_[b], head(a), head(b));
  Precedent& better = own.longest < other.longest ? other : own;
  better.follows = own.follows || other.follows;
  return better;
}

Precedent Walk::precedent_in(const Member& member, std::size_t here, const CallForm& call,
                             const CallForm& other) const {
  return find_precedent({member.calls.size(), here,
                         [&](std::size_t i, std::size_t j) {
                           const CallForm &x = all_.form_at(member, i), &y = all_.form_at(member, j);
                           return x.signature == y.signature && x.site == y.site;
                         },
                         [&](std::size_t i) { return same(all_.form_at(member, i), call); },
                         [&](std::size_t i) { return same(all_.form_at(member, i), other); }});
}

// The same call from the same place, or by way of the same frames but one: two lines of one function.
bool Walk::repeats(const CallForm& a, const CallForm& b) const {
  const auto &first = all_.sites[a.site], &second = all_.sites[b.site];
  if (!(a.signature == b.signature) || first.size() != second.size()) return false;
  std::size_t different = 0;
  for (std::size_t i = 0; i < first.size(); ++i) different += first[i] != second[i];
  return different == 0 || (different == 1 && first.size() > 1);
}

// How many of the communicator's calls come from the same place in the code, and, where that does not tell,
// in how many fields its calls of this operation agree with this one.
std::pair<std::size_t, std::size_t> Walk::kinship(const CallForm& call) const {
  std::size_t site = 0, fields = 0;
  for (const Member& member : members_)
    for (std::uint32_t number : member.calls) {
      const CallForm& other = all_.calls.form(number);
      const Signature& a = other.signature;
      const Signature& b = call.signature;
      site += call.site != 0 && other.site == call.site;
      if (a.operation != b.operation) continue;
      fields += (a.datatype == b.datatype) + (a.reduction == b.reduction) + (a.root == b.root) +
                2 * (a.count == b.count);
    }
  return {site, fields};
}

}  // namespace

Divergences find_divergences(const Collectives& collectives) {
  Divergences result;
  for (std::uint32_t c = 0; c < collectives.communicators.size(); ++c)
    if (collectives.communicators[c].members.size() > 1) Walk(collectives, c, result).run();
  return result;
}

}  // namespace ddpscope::matching
