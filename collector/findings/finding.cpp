// Entries of the coverage that several detectors share, and lists of ranks.
#include "collector/findings/finding.h"

#include <fmt/format.h>

#include <algorithm>

namespace ddpscope::findings {
namespace {

constexpr std::size_t kFew = 8;  // a host's ranks are told one by one

}  // namespace

std::vector<std::string> runs_of(const std::vector<std::int32_t>& numbers) {
  std::vector<std::string> runs;
  for (std::size_t i = 0, last; i < numbers.size(); i = last + 1) {
    for (last = i; last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1;) ++last;
    runs.push_back(last == i ? fmt::format("{}", numbers[i])
                             : fmt::format("{}-{}", numbers[i], numbers[last]));
  }
  return runs;
}

std::string list_numbers(const std::vector<std::int32_t>& numbers, std::string_view before_last) {
  std::vector<std::string> parts;
  for (std::int32_t number : numbers) {
    if (parts.size() > kFew) break;
    parts.push_back(fmt::format("{}", number));
  }
  if (parts.size() > kFew) parts = runs_of(numbers);
  std::string text;
  for (std::size_t i = 0; i < std::min(parts.size(), kFew); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == parts.size() ? before_last : ", ", parts[i]);
  return parts.size() > kFew ? fmt::format("{}, … ({})", text, numbers.size()) : text;
}

std::string list_ranks(const std::vector<std::int32_t>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + list_numbers(ranks);
}

void Outcome::leave_unjudged(Coverage entry) {
  auto known = std::find_if(coverage.begin(), coverage.end(), [&](const Coverage& other) {
    return other.what == entry.what && other.why == entry.why && other.entirely == entry.entirely;
  });
  if (known == coverage.end())
    coverage.push_back(std::move(entry));
  else
    known->unjudged.insert(known->unjudged.end(), entry.unjudged.begin(), entry.unjudged.end());
}

}  // namespace ddpscope::findings
