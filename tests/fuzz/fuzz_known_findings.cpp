// What a user names with --baseline and --suppress, whatever is in it: an error, or findings that are known.
#include <cstdint>
#include <string>
#include <string_view>

#include "collector/findings/catalogue.h"
#include "collector/gate/known_findings.h"

namespace {

using namespace ddpscope;

// One of each slug, with ids that a file can name.
findings::Outcome outcome() {
  findings::Outcome outcome;
  for (const findings::CatalogueRow& row : findings::catalogue()) {
    findings::Finding finding;
    finding.slug = row.slug;
    finding.id = "0123456789abcdef";
    outcome.findings.push_back(std::move(finding));
  }
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto baseline = gate::parse_baseline(text)) {
    findings::Outcome found = outcome();
    gate::apply(*baseline, found);
  }
  if (auto suppressions = gate::parse_suppressions(text)) {
    findings::Outcome found = outcome();
    for (const gate::Suppression& suppression : *suppressions)
      if (suppression.until) gate::to_text(*suppression.until);
    gate::apply(*suppressions, std::chrono::year{2026} / 12 / 1, found);
  }
  return 0;
}
