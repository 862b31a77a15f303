// Ranks and costs of a finding in a few words.
#include <fmt/format.h>

#include <algorithm>

#include "viewer/story/story.h"

namespace ddpscope::viewer {

std::string ranks_text(const std::vector<std::int32_t>& ranks) {
  if (ranks.empty()) return "no rank";
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    std::string part = last == i       ? fmt::format("{}", ranks[i])
                       : last == i + 1 ? fmt::format("{}, {}", ranks[i], ranks[last])
                                       : fmt::format("{}–{}", ranks[i], ranks[last]);
    text += (text.empty() ? "" : ", ") + part;
    i = last + 1;
  }
  return (ranks.size() == 1 ? "rank " : "ranks ") + text;
}

std::string with_short_paths(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    std::size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    auto slashes = std::count(word.begin(), word.end(), '/');
    if (word.starts_with('/') && slashes >= 3)
      result += "…" + std::string(word.substr(word.rfind('/', word.size() - 2)));
    else
      result += word;
    text.remove_prefix(end);
    if (text.empty()) break;
    result += ' ';
    text.remove_prefix(1);
  }
  return result;
}

std::string cost_text(const findings::Finding& finding) {
  if (finding.cost.ms_per_step > 0)
    return duration_text(static_cast<std::int64_t>(finding.cost.ms_per_step * 1e6)) + "/step";
  if (finding.cost.bytes_per_step > 0) return bytes_text(finding.cost.bytes_per_step) + "/step";
  auto leads_to = [&](const char* slug) {
    return std::find(finding.consequences.begin(), finding.consequences.end(), slug) !=
           finding.consequences.end();
  };
  if (finding.slug == "hung-collective" || leads_to("hung-collective")) return "hang";
  if (finding.count > 1) return fmt::format("{} times", finding.count);
  return "";
}

}  // namespace ddpscope::viewer
