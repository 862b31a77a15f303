// Rows and look-ups.
#include "collector/findings/catalogue.h"

namespace ddpscope::findings {
namespace {

constexpr CatalogueRow kRows[] = {
#define DDPSCOPE_FINDING(slug, severity, otherwise, works_on, sentence, explains, faults) \
  {slug, Severity::severity, otherwise, works_on, sentence, explains, faults},
#include "collector/findings/findings.def"
#undef DDPSCOPE_FINDING
};

}  // namespace

const char* name_of(Severity severity) {
  constexpr const char* kNames[] = {"info", "warning", "error"};
  return kNames[static_cast<std::size_t>(severity)];
}

std::optional<Severity> severity_named(std::string_view name) {
  for (Severity severity : {Severity::kInfo, Severity::kWarning, Severity::kError})
    if (name == name_of(severity)) return severity;
  return std::nullopt;
}

const char* name_of(Confidence confidence) {
  constexpr const char* kNames[] = {"possible", "likely", "certain"};
  return kNames[static_cast<std::size_t>(confidence)];
}

std::span<const CatalogueRow> catalogue() { return kRows; }

const CatalogueRow* find_row(std::string_view slug) {
  for (const CatalogueRow& row : kRows)
    if (row.slug == slug) return &row;
  return nullptr;
}

std::vector<std::string_view> explained_by(const CatalogueRow& row) {
  std::vector<std::string_view> slugs;
  for (std::string_view rest = row.explains; !rest.empty();) {
    std::size_t end = rest.find(' ');
    slugs.push_back(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return slugs;
}

}  // namespace ddpscope::findings
