// Reads "#:" lines and holds findings against them.
#include "tests/golden/expectation.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace ddpscope::tests {
namespace {

// "$W" and "${W-1}", "${W+1}", "${W//2}": all that the lines need.
std::string replaced(std::string line, int world) {
  for (std::size_t at; (at = line.find("${W")) != std::string::npos;) {
    std::size_t end = line.find('}', at);
    char sign = line[at + 3];
    std::size_t digits = at + (sign == '/' ? 5 : 4);  // "//" rounds down, as in the traces
    int operand = sign == '}' ? 0 : std::stoi(line.substr(digits, end - digits));
    int value = sign == '-' ? world - operand : sign == '/' ? world / operand : world + operand;
    line.replace(at, end - at + 1, std::to_string(value));
  }
  for (std::size_t at; (at = line.find("$W")) != std::string::npos;)
    line.replace(at, 2, std::to_string(world));
  return line;
}

// Words separated by blanks; one in quotes may hold blanks.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream in(line);
  for (std::string word; in >> word;) {
    if (word.front() == '"') {
      std::string rest;
      if (word.size() == 1 || word.back() != '"') std::getline(in, rest, '"');
      word = word.substr(1) + rest;
      if (!word.empty() && word.back() == '"') word.pop_back();
    }
    words.push_back(word);
  }
  return words;
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  return parts;
}

// "0..3" or "0,2,3".
std::vector<std::int32_t> ranks_of(const std::string& list) {
  std::vector<std::int32_t> ranks;
  std::size_t dots = list.find("..");
  if (dots != std::string::npos)
    for (int rank = std::stoi(list); rank <= std::stoi(list.substr(dots + 2)); ++rank) ranks.push_back(rank);
  else
    for (const std::string& part : split(list)) ranks.push_back(std::stoi(part));
  return ranks;
}

void read_finding(const std::vector<std::string>& words, const std::string& line, Expectation& expectation) {
  if (words.size() > 1 && words[1] == "nothing") return;
  ExpectedFinding finding;
  finding.line = line;
  finding.slug = words.size() > 1 ? words[1] : "";
  for (std::size_t i = 2; i + 1 < words.size(); i += 2) {
    const std::string& value = words[i + 1];
    if (words[i] == "ranks")
      finding.ranks = ranks_of(value);
    else if (words[i] == "severity")
      finding.severity = value;
    else if (words[i] == "confidence")
      finding.confidence = value;
    else if (words[i] == "count")
      finding.count = std::stoull(value);
    else if (words[i] == "says")
      finding.says = value;
    else if (words[i] == "causes")
      finding.causes = value == "nothing" ? std::vector<std::string>{} : split(value);
    else
      expectation.mistakes.push_back("unknown word '" + words[i] + "' in: " + line);
  }
  expectation.findings.push_back(std::move(finding));
}

void read_gaps(const std::vector<std::string>& words, Expectation& expectation) {
  auto because = std::find(words.begin(), words.end(), "because");
  for (auto slug = words.begin() + 1; slug != because; ++slug)
    expectation.unjudged.push_back({*slug, because < words.end() - 1 ? because[1] : ""});
}

std::string describe(const findings::Finding& finding) {
  std::string ranks;
  for (std::int32_t rank : finding.ranks) ranks += fmt::format("{}{}", ranks.empty() ? "" : ",", rank);
  std::string causes;
  for (const std::string& slug : finding.consequences) causes += (causes.empty() ? "" : ",") + slug;
  return fmt::format("{} ranks {} severity {} confidence {} count {} causes {} says \"{}\"", finding.slug,
                     ranks, name_of(finding.severity), name_of(finding.confidence), finding.count,
                     causes.empty() ? "nothing" : causes, finding.title);
}

bool fits(const ExpectedFinding& expected, const findings::Finding& finding) {
  return expected.slug == finding.slug && (expected.ranks.empty() || expected.ranks == finding.ranks) &&
         (expected.severity.empty() || expected.severity == name_of(finding.severity)) &&
         (expected.confidence.empty() || expected.confidence == name_of(finding.confidence)) &&
         (expected.count == 0 || expected.count == finding.count) &&
         (!expected.causes || *expected.causes == finding.consequences) &&
         finding.title.find(expected.says) != std::string::npos;
}

}  // namespace

Expectation read_expectation(const std::string& text, int world) {
  Expectation expectation;
  std::istringstream in(text);
  for (std::string raw; std::getline(in, raw);) {
    if (raw.rfind("#:", 0) != 0) continue;
    std::string line = replaced(raw.substr(2), world);
    std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    if (words[0] == "finds")
      read_finding(words, line, expectation);
    else if (words[0] == "unjudged")
      read_gaps(words, expectation);
    else if (words[0] == "worlds")
      for (std::size_t i = 1; i < words.size(); ++i) expectation.worlds.push_back(std::stoi(words[i]));
    else
      expectation.mistakes.push_back("unknown line: " + line);
  }
  return expectation;
}

std::vector<std::string> compare(const Expectation& expected, const findings::Outcome& outcome) {
  std::vector<std::string> differences = expected.mistakes;
  std::vector<bool> used(outcome.findings.size());
  for (const ExpectedFinding& wanted : expected.findings) {
    std::size_t i = 0;
    while (i < used.size() && (used[i] || !fits(wanted, outcome.findings[i]))) ++i;
    if (i < used.size())
      used[i] = true;
    else
      differences.push_back("not found:" + wanted.line);
  }
  for (std::size_t i = 0; i < used.size(); ++i)
    if (!used[i]) differences.push_back("found besides: " + describe(outcome.findings[i]));
  for (const ExpectedGap& gap : expected.unjudged) {
    bool told =
        std::any_of(outcome.coverage.begin(), outcome.coverage.end(), [&](const findings::Coverage& entry) {
          return entry.why.find(gap.because) != std::string::npos &&
                 std::find(entry.unjudged.begin(), entry.unjudged.end(), gap.slug) != entry.unjudged.end();
        });
    if (!told)
      differences.push_back("coverage does not say that it is unjudged: " + gap.slug + " because " +
                            gap.because);
  }
  return differences;
}

}  // namespace ddpscope::tests
