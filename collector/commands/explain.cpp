// ddpscope explain: the page of a finding.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "collector/commands/command.h"
#include "collector/findings/catalogue.h"

namespace ddpscope::commands {
namespace {

Outcome list() {
  constexpr const char* kLine = "{:28} {:8} {:{}} {}{}\n";
  auto width = [](const findings::CatalogueRow& row) { return row.works_on.size(); };
  const std::size_t widest = width(std::ranges::max(findings::catalogue(), {}, width));
  fmt::print(kLine, "FINDING", "SEVERITY", "WORKS ON", widest, "IN ONE SENTENCE", "");
  for (const findings::CatalogueRow& row : findings::catalogue())
    fmt::print(kLine, row.slug, name_of(row.severity), row.works_on, widest, row.sentence,
               findings::page_of(row.slug).empty() ? " (not in this version)" : "");
  return {};
}

Outcome explain(const std::string& slug) {
  if (slug.empty()) return list();
  const findings::CatalogueRow* row = findings::find_row(slug);
  if (!row) return failed({"there is no finding '" + slug + "'", "", "`ddpscope explain` lists them"});
  std::string_view page = findings::page_of(slug);
  if (!page.empty()) {
    fmt::print("{}", page);
    return {};
  }
  fmt::print("{}: {}\n", row->slug, row->sentence);
  return not_in_this_version("the detector of " + slug);
}

}  // namespace

Action declare_explain(CLI::App& app) {
  auto slug = std::make_shared<std::string>();
  app.add_option("SLUG", *slug, "finding, as reports name it; without one all are listed")->type_name("");
  return [slug] { return explain(*slug); };
}

}  // namespace ddpscope::commands
