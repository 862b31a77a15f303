// `report --format junit`.
#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>
#include <sstream>

#include "collector/findings/catalogue.h"
#include "collector/reports/escape.h"
#include "collector/reports/format.h"
#include "collector/reports/phrases.h"

namespace ddpscope::reports {
namespace {

using findings::Finding;

bool holds(const std::vector<std::string>& slugs, std::string_view slug) {
  return std::find(slugs.begin(), slugs.end(), slug) != slugs.end();
}

class Suite {
 public:
  explicit Suite(const Report& report) : report_(report) {}

  std::string run() {
    auto suites = document_.append_child("testsuites");
    suite_ = suites.append_child("testsuite");
    for (const findings::CatalogueRow& row : findings::catalogue())
      if (report_.outcome.only.empty() || holds(report_.outcome.only, row.slug)) add_case(row);
    if (report_.fail_on_failure) add_job();
    for (pugi::xml_node node : {suites, suite_}) {
      node.append_attribute("name") = "ddpscope";
      node.append_attribute("tests") = cases_;
      node.append_attribute("failures") = failures_;
      node.append_attribute("errors") = 0;
      node.append_attribute("time") = fmt::format("{:.3f}", seconds(report_.job.duration_ns)).c_str();
    }
    suite_.append_attribute("skipped") = skipped_;
    if (report_.outcome.first_failure)
      add_text(suite_, "system-out", first_failure_text(*report_.outcome.first_failure));
    std::ostringstream text;
    document_.save(text, "  ", pugi::format_indent, pugi::encoding_utf8);
    return text.str();
  }

 private:
  void add_case(const findings::CatalogueRow& row);
  pugi::xml_node add_test(std::string_view name);
  void add_job();
  void add_found(pugi::xml_node test, const std::vector<const Finding*>& found);
  void add_unjudged(pugi::xml_node test, std::string_view slug);
  bool fails(const Finding& finding) const {
    return report_.fail_from && finding.severity >= *report_.fail_from &&
           finding.known_by == findings::KnownBy::kNobody;
  }
  static void add_text(pugi::xml_node parent, const char* name, const std::string& text) {
    parent.append_child(name).text() = text.c_str();
  }

  const Report& report_;
  pugi::xml_document document_;
  pugi::xml_node suite_;
  unsigned cases_ = 0, failures_ = 0, skipped_ = 0;
};

pugi::xml_node Suite::add_test(std::string_view name) {
  ++cases_;
  auto test = suite_.append_child("testcase");
  test.append_attribute("classname") = "ddpscope";
  test.append_attribute("name") = std::string(name).c_str();
  return test;
}

void Suite::add_job() {
  auto test = add_test("job");
  const std::string failed = unexplained_failure_text(report_.outcome);
  if (failed.empty()) return;
  ++failures_;
  auto failure = test.append_child("failure");
  failure.append_attribute("message") = failed.c_str();
  failure.text() = escape(report_.outcome.failure->how).c_str();
}

void Suite::add_case(const findings::CatalogueRow& row) {
  auto test = add_test(row.slug);
  std::vector<const Finding*> found;
  for (const Finding& finding : report_.outcome.findings)
    if (finding.slug == row.slug) found.push_back(&finding);
  if (found.empty()) return add_unjudged(test, row.slug);
  add_found(test, found);
}

// The most severe is told first; a case fails once, however many there are of its kind.
void Suite::add_found(pugi::xml_node test, const std::vector<const Finding*>& found) {
  auto failing = std::find_if(found.begin(), found.end(), [&](const Finding* f) { return fails(*f); });
  std::string text;
  for (const Finding* finding : found) text += finding_text(report_.job, *finding);
  if (failing == found.end()) return add_text(test, "system-out", text);
  ++failures_;
  auto failure = test.append_child("failure");
  std::string others = found.size() > 1 ? fmt::format(" (and {} more)", found.size() - 1) : "";
  failure.append_attribute("message") = (escape((*failing)->title) + others).c_str();
  failure.append_attribute("type") = name_of((*failing)->severity);
  failure.text() = text.c_str();
}

void Suite::add_unjudged(pugi::xml_node test, std::string_view slug) {
  std::string why;
  bool entirely = false;
  for (const findings::Coverage& entry : report_.outcome.coverage) {
    if (!holds(entry.unjudged, slug)) continue;
    why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", escape(entry.what), escape(entry.why));
    entirely |= entry.entirely;
  }
  if (why.empty()) return;
  if (!entirely) return add_text(test, "system-out", "judged in part only: " + why);
  ++skipped_;
  test.append_child("skipped").append_attribute("message") = why.c_str();
}

}  // namespace

std::string junit_report(const Report& report) { return Suite(report).run(); }

}  // namespace ddpscope::reports
