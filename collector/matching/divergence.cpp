// Walks all members of a communicator side by side; where their next calls differ, the cheapest edit decides.
#include "collector/matching/divergence.h"

#include <algorithm>
#include <set>

#include "collector/matching/edit_script.h"

namespace ddpscope::matching {
namespace {

using Group = std::vector<std::uint32_t>;  // members whose next calls are the same

constexpr std::size_t kMaxDivergences =
    256;  // of one communicator: beyond it the sequences have nothing in common

bool of_one_element(const CallForm& call) {
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
  Step compare(std::uint32_t a, std::uint32_t b) const;
  void tell(Step step, const Group& odd, const Group& right, bool tie);
  void accept_sites(const CallForm& a, const CallForm& b);
  void add(DivergenceKind kind, const Group& odd, const Group& others, bool decided);
  void tell_missing(const Group& without, const Group& with, bool tie);
  void tell_different(const Group& odd, const Group& others, bool tie);
  enum class Surplus : std::uint8_t { kYes, kNo, kUnknown };
  bool repeats(const CallForm& a, const CallForm& b) const;
  Surplus judge_surplus(std::uint32_t member, std::uint32_t without) const;
  Surplus judge_rhythm(std::uint32_t member) const;
  struct History {
    bool by_own = false, by_other = false, by_else = false;
  };
  History history(std::uint32_t member, std::uint32_t other) const;
  bool due(std::uint32_t member) const;
  std::pair<std::size_t, std::size_t> kinship(const CallForm& call) const;

  const Collectives& all_;
  std::uint32_t index_;
  const std::vector<Member>& members_;
  Divergences& out_;
  std::vector<std::size_t> next_;
  std::vector<bool> told_short_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> equal_sites_;  // ranks may make one call from two places
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

void Walk::tell_short(const std::vector<std::uint32_t>& at_end, std::uint32_t peer) {
  for (std::uint32_t member : at_end) {
    if (told_short_[member]) continue;
    told_short_[member] = true;
    out_.short_members.push_back({index_, member, number(peer)});
  }
}

// The largest group says what is right. Calls that only an odd group makes are consumed first, alone; else
// the reference moves on, and with it all but the groups that leave its call out.
void Walk::resolve(std::vector<Group>& groups) {
  auto larger = [](const Group& a, const Group& b) { return a.size() > b.size(); };
  std::stable_sort(groups.begin(), groups.end(), larger);
  const Group& right = groups[0];
  bool tie = groups.size() == 2 && groups[1].size() == right.size();
  std::vector<Step> steps(groups.size(), Step::kMatch);
  for (std::size_t g = 1; g < groups.size(); ++g) steps[g] = compare(right.front(), groups[g].front());
  bool surplus = std::count(steps.begin(), steps.end(), Step::kOnlySecond) > 0;
  std::vector<Group> advance;
  for (std::size_t g = 1; g < groups.size(); ++g) {
    if (surplus && steps[g] != Step::kOnlySecond) continue;
    tell(steps[g], groups[g], right, tie);
    if (steps[g] != Step::kOnlyFirst) advance.push_back(groups[g]);
  }
  if (!surplus) advance.push_back(right);
  for (const Group& group : advance)
    for (std::uint32_t member : group) ++next_[member];
}

Step Walk::compare(std::uint32_t a, std::uint32_t b) const {
  return first_step(left(a), left(b),
                    [&](std::size_t i, std::size_t j) { return cost(head(a, i), head(b, j)); });
}

void Walk::tell(Step step, const Group& odd, const Group& right, bool tie) {
  if (step == Step::kMatch) accept_sites(head(right.front()), head(odd.front()));
  if (step == Step::kDifferent) tell_different(odd, right, tie);
  if (step == Step::kOnlyFirst) tell_missing(odd, right, tie);
  if (step == Step::kOnlySecond && tie) tell_missing(right, odd, tie);
  if (step == Step::kOnlySecond && !tie) add(DivergenceKind::kSurplus, odd, right, true);
}

void Walk::accept_sites(const CallForm& a, const CallForm& b) {
  equal_sites_.insert(std::minmax(a.site, b.site));
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

// Between two sides of one size the odd one is that which goes on otherwise than ever before, else that whose
// call is stranger to what this communicator has seen.
void Walk::tell_different(const Group& odd, const Group& others, bool tie) {
  // A call of one element (a barrier, a scalar) against one that moves data: they are no variants of each
  // other.
  bool one = of_one_element(head(odd.front())), other_one = of_one_element(head(others.front()));
  if (one && !other_one)
    return tie ? tell_missing(others, odd, tie) : add(DivergenceKind::kSurplus, odd, others, true);
  if (other_one && !one) return tell_missing(odd, others, tie);
  if (!tie) return add(DivergenceKind::kDifferent, odd, others, true);
  bool odd_is_due = due(odd.front()), others_are_due = due(others.front());
  if (odd_is_due != others_are_due)
    return odd_is_due ? add(DivergenceKind::kDifferent, others, odd, true)
                      : add(DivergenceKind::kDifferent, odd, others, true);
  auto kin_odd = kinship(head(odd.front())), kin_others = kinship(head(others.front()));
  bool swapped = kin_others < kin_odd;
  add(DivergenceKind::kDifferent, swapped ? others : odd, swapped ? odd : others, kin_odd != kin_others);
}

// What earlier in the job followed the call that the member made last: its next call, the next call of
// another member, something else.
Walk::History Walk::history(std::uint32_t member, std::uint32_t other) const {
  History seen;
  std::size_t here = next_[member];
  for (std::size_t i = 0; i + 1 < here; ++i) {
    if (!same(all_.form_at(members_[member], i), all_.form_at(members_[member], here - 1))) continue;
    const CallForm& next = all_.form_at(members_[member], i + 1);
    bool own = same(next, head(member));
    seen.by_own = seen.by_own || own;
    seen.by_else = seen.by_else || !own;
    seen.by_other = seen.by_other || (!ended(other) && same(next, head(other)));
  }
  return seen;
}

// Whether the member's next call is what earlier in the job always followed the one before, or comes in its
// rhythm.
bool Walk::due(std::uint32_t member) const {
  History seen = history(member, member);
  return seen.by_own && (!seen.by_else || judge_rhythm(member) == Surplus::kNo);
}

// Whether the member's next call is one too many. What came before it tells, if earlier in the job that was
// followed always by this call, or always by what the other goes on with. If by both (a barrier every few
// steps), the call is due or not by its distance from its like. Without an example it is taken for one too
// many if it repeats the call right before it.
Walk::Surplus Walk::judge_surplus(std::uint32_t member, std::uint32_t without) const {
  std::size_t here = next_[member];
  if (here == 0) return Surplus::kUnknown;
  History seen = history(member, without);
  if (seen.by_own != seen.by_other) return seen.by_other ? Surplus::kYes : Surplus::kNo;
  if (seen.by_own) return judge_rhythm(member);
  return repeats(all_.form_at(members_[member], here - 1), head(member)) ? Surplus::kYes : Surplus::kUnknown;
}

// By the distances between this member's calls of the kind so far, of which at least two have to be equal.
Walk::Surplus Walk::judge_rhythm(std::uint32_t member) const {
  std::vector<std::size_t> distances;
  std::size_t last = kNone;
  for (std::size_t i = 0; i <= next_[member]; ++i) {
    if (!same(all_.form_at(members_[member], i), head(member))) continue;
    if (last != kNone) distances.push_back(i - last);
    last = i;
  }
  if (distances.size() < 2) return Surplus::kUnknown;
  bool regular = std::equal(distances.begin() + 1, distances.end() - 1, distances.begin());
  if (!regular) return Surplus::kUnknown;
  if (distances.back() == distances.front()) return Surplus::kNo;
  return distances.size() > 2 && distances.back() < distances.front() ? Surplus::kYes : Surplus::kUnknown;
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
