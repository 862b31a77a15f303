// By the calls' stacks.
#include "collector/detectors/call_in_between.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "collector/detectors/story.h"

namespace ddpscope::detectors {
namespace {

// Of "FILE:LINE FUNCTION".
struct Frame {
  std::string_view file, function;
  int line = 0;
};

std::optional<Frame> parse(std::string_view text) {
  std::size_t space = text.find(' ');
  std::size_t colon = text.substr(0, space).rfind(':');
  if (space == std::string_view::npos || colon == std::string_view::npos) return std::nullopt;
  Frame frame{text.substr(0, colon), text.substr(space + 1), 0};
  auto [end, error] = std::from_chars(text.data() + colon + 1, text.data() + space, frame.line);
  if (error != std::errc{} || end != text.data() + space) return std::nullopt;
  return frame;
}

// Stacks are cut off at some depth: what both have of the callers is compared.
bool same_callers(const std::vector<std::string>& a, std::size_t i, const std::vector<std::string>& b,
                  std::size_t j) {
  for (; i < a.size() && j < b.size(); ++i, ++j)
    if (a[i] != b[j]) return false;
  return true;
}

bool stands_before(const std::vector<std::string>& first, const std::vector<std::string>& second) {
  for (std::size_t i = 0; i < first.size(); ++i)
    for (std::size_t j = 0; j < second.size(); ++j) {
      auto a = parse(first[i]), b = parse(second[j]);
      if (a && b && a->file == b->file && a->function == b->function && a->line != b->line &&
          same_callers(first, i + 1, second, j + 1))
        return a->line < b->line;
    }
  return false;
}

}  // namespace

bool is_made_before_barrier(const Facts& facts, std::uint32_t call, std::uint32_t barrier) {
  const matching::CallForm& own = facts.collectives.calls.form(call);
  if (!own.site) return false;
  // It may make more of them right behind: an evaluation has several batches.
  std::size_t here = facts.collectives.ordinal_of(call);
  for (const matching::Member& member : facts.collectives.communicators[own.communicator].members)
    for (std::size_t k = 0; k < std::min(here, member.calls.size()); ++k)
      if (facts.collectives.form_at(member, k).site == own.site) return false;
  return stands_before(stack_of(facts.job, facts.collectives.calls[call].event),
                       stack_of(facts.job, facts.collectives.calls[barrier].event));
}

}  // namespace ddpscope::detectors
