#include "collector/matching/calls_made_alone.h"

#include <algorithm>

#include "collector/matching/edit_script.h"

namespace ddpscope::matching {

bool CallsMadeAlone::is_near(const CallMadeAlone& before, std::size_t place) const {
  return place <= before.place + kLookAhead;
}

CallsMadeAlone::Calls::const_iterator CallsMadeAlone::find(const CallMadeAlone& call) const {
  return std::find_if(calls_.begin(), calls_.end(), [&](const CallMadeAlone& before) {
    return before.odd == call.odd && before.by_odd != call.by_odd && is_near(before, call.place) &&
           same_(*before.form, *call.form);
  });
}

std::optional<std::size_t> CallsMadeAlone::counterpart(const CallMadeAlone& call) const {
  auto found = find(call);
  return found == calls_.end() ? std::nullopt : std::optional(found->divergence);
}

std::optional<std::size_t> CallsMadeAlone::take(Calls::const_iterator found) {
  if (found == calls_.end()) return std::nullopt;
  std::size_t divergence = found->divergence;
  calls_.erase(found);
  return divergence;
}

std::optional<std::size_t> CallsMadeAlone::take_counterpart(const CallMadeAlone& call) {
  return take(find(call));
}

std::optional<std::size_t> CallsMadeAlone::take_counterpart_of_end(std::uint32_t maker, const CallForm& form,
                                                                   std::size_t place) {
  return take(std::find_if(calls_.begin(), calls_.end(), [&](const CallMadeAlone& before) {
    bool is_odd = std::binary_search(before.odd.begin(), before.odd.end(), maker);
    return is_odd != before.by_odd && is_near(before, place) && before.form->signature == form.signature;
  }));
}

bool CallsMadeAlone::add(CallMadeAlone call) {
  bool goes_on = false;
  if (!calls_.empty()) {
    const CallMadeAlone& last = calls_.back();
    goes_on = last.odd == call.odd && last.by_odd == call.by_odd && last.place + 1 == call.place &&
              last.place_of_other == call.place_of_other;
    if (goes_on) call.divergence = last.divergence;
  }
  calls_.push_back(std::move(call));
  return goes_on;
}

}  // namespace ddpscope::matching
