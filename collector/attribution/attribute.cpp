// Merge, fold, name, sort.
#include "collector/attribution/attribute.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "collector/attribution/explain_failure.h"
#include "collector/findings/catalogue.h"

namespace ddpscope::attribution {
namespace {

using findings::Finding;

// FNV-1a: written here because the id is a contract and must not change with a library.
std::string hash(std::string_view text) {
  std::uint64_t value = 14695981039346656037u;
  for (char byte : text) value = (value ^ static_cast<unsigned char>(byte)) * 1099511628211u;
  return fmt::format("{:016x}", value);
}

void merge_into(Finding& first, const Finding& more) {
  first.count += more.count;
  first.first_ns = std::min(first.first_ns, more.first_ns);
  first.last_ns = std::max(first.last_ns, more.last_ns);
  first.place.from_ns = std::min(first.place.from_ns, more.place.from_ns);
  first.place.to_ns = std::max(first.place.to_ns, more.place.to_ns);
  if (first.place.communicator == more.place.communicator)
    first.place.divergence = std::min(first.place.divergence, more.place.divergence);
  first.confidence = std::max(first.confidence, more.confidence);
  first.severity = std::max(first.severity, more.severity);
  first.files.insert(more.files.begin(), more.files.end());
  first.ended.insert(more.ended.begin(), more.ended.end());
}

void merge_equal(std::vector<Finding>& found) {
  std::map<std::tuple<std::string, std::string, std::vector<std::int32_t>>, std::size_t> known;
  std::vector<Finding> merged;
  for (Finding& finding : found) {
    auto [place, fresh] = known.emplace(std::tuple(finding.slug, finding.key, finding.ranks), merged.size());
    if (fresh)
      merged.push_back(std::move(finding));
    else
      merge_into(merged[place->second], finding);
  }
  found = std::move(merged);
}

bool share_place(const Finding& a, const Finding& b) {
  bool overlap = a.place.from_ns < b.place.to_ns && b.place.from_ns < a.place.to_ns;
  return overlap && std::any_of(a.place.ranks.begin(), a.place.ranks.end(), [&](std::int32_t rank) {
           return std::find(b.place.ranks.begin(), b.place.ranks.end(), rank) != b.place.ranks.end();
         });
}

// Empty for the root of all.
std::string_view folder_of(std::string_view file) {
  std::size_t slash = file.rfind('/');
  return slash == std::string_view::npos ? "" : file.substr(0, slash);
}

// A checkpoint may be several files, and its folder: what is in one folder belongs together. An effect on
// other files too is another bug as well; so is one on no files, if other ranks show it too.
bool covers_files(const Finding& cause, const Finding& effect) {
  if (effect.files.empty())
    return std::includes(cause.ranks.begin(), cause.ranks.end(), effect.ranks.begin(), effect.ranks.end());
  std::set<std::string_view> known(cause.files.begin(), cause.files.end());
  for (std::string_view file : cause.files) known.insert(folder_of(file));
  known.erase("");
  return std::all_of(effect.files.begin(), effect.files.end(), [&](std::string_view file) {
    return known.contains(file) || known.contains(folder_of(file));
  });
}

// Nothing follows from what has not begun: a manifest that is read too early does not come from a later save,
// though both are files of one folder, between the same two barriers; and ranks that part ways do so for what
// comes first, not for a barrier that one of them leaves out later.
bool over_before(const Finding& effect, const Finding& cause) {
  const findings::Place &of_effect = effect.place, &of_cause = cause.place;
  if (of_effect.communicator && of_effect.communicator == of_cause.communicator &&
      of_effect.divergence < of_cause.divergence)
    return true;
  return cause.place.its_files_only && !effect.files.empty() && effect.last_ns < cause.first_ns;
}

bool explains(const Finding& cause, const Finding& effect) {
  const findings::CatalogueRow* row = findings::find_row(cause.slug);
  if (!row || (!effect.ended.empty() && is_mild(cause))) return false;
  auto slugs = findings::explained_by(*row);
  return std::find(slugs.begin(), slugs.end(), effect.slug) != slugs.end() && share_place(cause, effect) &&
         !over_before(effect, cause) && (!cause.place.its_files_only || covers_files(cause, effect));
}

// Each finding goes to the cause that nothing else explains, if there is one: chains end at their root.
void fold(std::vector<Finding>& found) {
  std::vector<std::size_t> root(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    root[i] = i;
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t cause = 0; cause < found.size() && !moved; ++cause)
        if (cause != root[i] && explains(found[cause], found[root[i]])) {
          root[i] = cause;
          moved = true;
        }
    }
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (root[i] == i) continue;
    Finding& cause = found[root[i]];
    cause.severity = std::max(cause.severity, found[i].severity);
    cause.ended.insert(found[i].ended.begin(), found[i].ended.end());
    auto& slugs = cause.consequences;
    if (std::find(slugs.begin(), slugs.end(), found[i].slug) == slugs.end()) slugs.push_back(found[i].slug);
  }
  std::vector<Finding> roots;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (root[i] == i) roots.push_back(std::move(found[i]));
  found = std::move(roots);
}

// 88 before 101
struct ByNumbersToo {
  bool operator()(const std::string& a, const std::string& b) const {
    return strverscmp(a.c_str(), b.c_str()) < 0;
  }
};

// Lines are no part of an id. Findings that differ in them alone are numbered in the order of the lines,
// which is the same in each run of a program.
void give_ids(std::vector<Finding>& found) {
  std::map<std::string, std::map<std::string, Finding*, ByNumbersToo>> alike;
  for (Finding& finding : found) {
    std::string text = finding.slug + "\n" + findings::without_lines(finding.key) + "\n";
    for (std::int32_t rank : finding.ranks) text += fmt::format(" {}", rank);
    alike[text].emplace(finding.key, &finding);
  }
  for (const auto& [text, by_key] : alike) {
    std::size_t number = 0;
    for (const auto& [key, finding] : by_key) {
      finding->id = hash(number ? fmt::format("{}\n{}", text, number) : text);
      ++number;
    }
  }
}

}  // namespace

void attribute(std::vector<Finding>& found) {
  merge_equal(found);
  fold(found);
  give_ids(found);
  for (Finding& finding : found) std::sort(finding.consequences.begin(), finding.consequences.end());
  auto worse = [](const Finding& a, const Finding& b) {
    return std::tuple(-static_cast<int>(a.severity), a.ended.empty(), a.first_ns, a.slug, a.key) <
           std::tuple(-static_cast<int>(b.severity), b.ended.empty(), b.first_ns, b.slug, b.key);
  };
  std::stable_sort(found.begin(), found.end(), worse);
}

}  // namespace ddpscope::attribution
