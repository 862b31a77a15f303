// Part after part of the text.
#include "viewer/lanes/row_filter.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "collector/merged/find_text.h"

namespace ddpscope::viewer {
namespace {

struct Ranks {
  std::int32_t from, to;
};

// "3", "8-15"; nothing if it is no such text.
std::optional<Ranks> ranks_of(std::string_view part) {
  Ranks ranks{};
  const char* end = part.data() + part.size();
  auto first = std::from_chars(part.data(), end, ranks.from);
  if (first.ec != std::errc() || ranks.from < 0) return std::nullopt;
  ranks.to = ranks.from;
  if (first.ptr == end) return ranks;
  if (*first.ptr != '-') return std::nullopt;
  auto second = std::from_chars(first.ptr + 1, end, ranks.to);
  return second.ec == std::errc() && second.ptr == end ? std::optional(ranks) : std::nullopt;
}

bool matches(const merged::Reader& reader, const merged::RankRow& row, std::string_view part) {
  if (auto ranks = ranks_of(part)) return row.rank >= ranks->from && row.rank <= ranks->to;
  return merged::contains_typed(row.process, part) || merged::contains_typed(row.role, part) ||
         (row.host != merged::kNone && merged::contains_typed(reader.hosts()[row.host].name, part));
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

std::set<std::uint32_t> matching_rows(const merged::Reader& reader, std::string_view text) {
  std::set<std::uint32_t> rows;
  while (!text.empty()) {
    std::size_t comma = std::min(text.find(','), text.size());
    std::string_view part = trimmed(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (part.empty()) continue;
    for (std::uint32_t row = 0; row < reader.ranks().size(); ++row)
      if (matches(reader, reader.ranks()[row], part)) rows.insert(row);
  }
  return rows;
}

}  // namespace ddpscope::viewer
