// Ranks and costs of a finding in a few words.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "collector/reports/phrases.h"
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

namespace {

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

// The number that stands at `at`, and where it ends; nothing where there is none.
struct Number {
  long value = 0;
  std::size_t end = 0;
};
std::optional<Number> number_at(std::string_view text, std::size_t at) {
  Number number;
  auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number.value);
  if (error != std::errc()) return std::nullopt;
  number.end = static_cast<std::size_t>(end - text.data());
  return number;
}

constexpr std::string_view kRanks = "ranks ";

// From the first number of "3, 4, 5 and 6", or "3-6", on: what is written instead; `at` moves behind the
// list.
std::string short_list(std::string_view text, std::size_t& at) {
  constexpr std::string_view kComma = ", ", kAnd = " and ";
  std::string result;
  std::string_view between;  // before the next number; behind "and" comes the last
  while (auto number = number_at(text, at)) {
    long first = number->value, last = first;
    std::size_t begin = at;
    result += between;
    if (text.substr(number->end).starts_with('-'))  // a run, as lists of many have it
      if (auto to = number_at(text, number->end + 1)) number = to, last = to->value;
    for (bool more = true; more;) {
      at = number->end;
      std::string_view word = text.substr(at).starts_with(kComma) ? kComma : kAnd;
      bool listed = between != kAnd && text.substr(at).starts_with(word);
      number = listed ? number_at(text, at + word.size()) : std::nullopt;
      more = number && number->value == last + 1;
      between = number ? word : "";
      if (more) last = number->value;
    }
    result +=
        last - first >= 3 ? fmt::format("{}–{}", first, last) : std::string(text.substr(begin, at - begin));
    if (between.empty()) break;
    at += between.size();
  }
  return result;
}

}  // namespace

std::string in_short(std::string_view text) {
  std::string result;
  std::size_t done = 0;
  for (std::size_t at = text.find(kRanks); at != std::string_view::npos; at = text.find(kRanks, done)) {
    at += kRanks.size();
    result += text.substr(done, at - done);
    result += short_list(text, at);
    done = at;
  }
  result += text.substr(done);
  return with_short_paths(result);
}

std::string deed_text(const FileLine& line, bool told, TimeSpan shown) {
  if (told && !line.does.empty()) return in_short(line.does);
  bool writes = std::any_of(line.accesses.begin(), line.accesses.end(), [&](const StoryAccess& access) {
    return access.kind == merged::Kind::kFileWrite && access.end_ns >= shown.from_ns &&
           access.begin_ns <= shown.to_ns;
  });
  return writes ? "writes" : "uses it";
}

std::string cost_text(const findings::Finding& finding) {
  if (reports::stops_the_job(finding)) return "hang";
  if (finding.cost.ms_per_step > 0)
    return duration_text(static_cast<std::int64_t>(finding.cost.ms_per_step * 1e6)) + "/step";
  if (finding.cost.bytes_per_step > 0) return bytes_text(finding.cost.bytes_per_step) + "/step";
  if (finding.count > 1) return fmt::format("{} times", finding.count);
  return "";
}

std::string cost_sentence(const findings::Finding& finding) {
  if (reports::stops_the_job(finding)) return reports::cost_text(finding);
  std::string text;
  if (finding.cost.ms_per_step > 0)
    text = duration_text(static_cast<std::int64_t>(finding.cost.ms_per_step * 1e6)) + " a step";
  if (finding.cost.bytes_per_step > 0)
    text += (text.empty() ? "" : " and ") + bytes_text(finding.cost.bytes_per_step) + " a step";
  return text;
}

}  // namespace ddpscope::viewer
