// `report --format html`: one file that needs nothing else, to be kept, sent and opened years later.
#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>
#include <sstream>

#include "collector/findings/catalogue.h"
#include "collector/reports/base64.h"
#include "collector/reports/escape.h"
#include "collector/reports/format.h"
#include "collector/reports/phrases.h"

namespace ddpscope::reports {
namespace {

using findings::Finding;

// Neither holds &, < or >, which would be escaped.
constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; vertical-align: top; padding: .35rem .6rem;
  border-bottom: 1px solid var(--line); }
input { font: inherit; padding: .3rem .6rem; width: 24rem; max-width: 100%; margin: .5rem 0; }
pre, code { font: 13px/1.4 ui-monospace, monospace; } pre { background: var(--soft); padding: .7rem; overflow-x: auto; white-space: pre-wrap; }
img { max-width: 100%; border: 1px solid var(--line); }
.error { color: #c62828; } .warning { color: #b26a00; } .info { color: #1565c0; } .known { opacity: .6; }
.severity { font-weight: 600; } dt { font-weight: 600; } dd { margin: 0; } dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; } .quiet { opacity: .75; }
@media (prefers-color-scheme: dark) { .error { color: #ff8a80; } .warning { color: #ffb74d; } .info { color: #82b1ff; } }
)";
constexpr const char* kScript = R"(
document.querySelectorAll('input[data-table]').forEach(function (field) {
  field.addEventListener('input', function () {
    var wanted = field.value.toLowerCase();
    document.querySelectorAll('#' + field.dataset.table + ' tbody tr').forEach(function (row) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
  });
});
)";

pugi::xml_node add(pugi::xml_node parent, const char* name, std::string_view text = "",
                   const char* classes = nullptr) {
  auto node = parent.append_child(name);
  if (classes) node.append_attribute("class") = classes;
  if (!text.empty()) node.text() = std::string(text).c_str();
  return node;
}

class Page {
 public:
  explicit Page(const Report& report) : report_(report) {}

  std::string run() {
    document_.append_child(pugi::node_doctype).set_value("html");
    auto html = document_.append_child("html");
    html.append_attribute("lang") = "en";
    add_head(html.append_child("head"));
    body_ = html.append_child("body");
    add_summary();
    if (!report_.outcome.findings.empty()) add_findings_table();
    for (const Finding& finding : report_.outcome.findings) add_finding(finding);
    add_coverage();
    add(body_, "p", "ddpscope " + report_.version, "quiet");
    add(body_, "script", kScript);
    std::ostringstream text;
    document_.save(text, " ",
                   pugi::format_no_declaration | pugi::format_no_empty_element_tags | pugi::format_indent,
                   pugi::encoding_utf8);
    return text.str();
  }

 private:
  void add_head(pugi::xml_node head) const;
  void add_summary();
  pugi::xml_node add_table(const char* id, const char* search, std::initializer_list<const char*> columns);
  void add_findings_table();
  void add_finding(const Finding& finding);
  void add_picture(const Finding& finding);
  static void add_advice(pugi::xml_node facts, const std::string& advice);
  static void add_evidence(pugi::xml_node list, const findings::Evidence& evidence);
  void add_coverage();

  const Report& report_;
  pugi::xml_document document_;
  pugi::xml_node body_;
};

void Page::add_head(pugi::xml_node head) const {
  add(head, "meta").append_attribute("charset") = "utf-8";
  auto policy = add(head, "meta");
  policy.append_attribute("http-equiv") = "Content-Security-Policy";
  policy.append_attribute("content") =
      "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'";
  add(head, "title", "ddpscope: " + headline(report_.outcome));
  add(head, "style", kStyle);
}

void Page::add_summary() {
  const JobFacts& job = report_.job;
  add(body_, "h1", "ddpscope: " + headline(report_.outcome));
  add(body_, "p",
      fmt::format("{}, {:.3f} s, {} events, {} dropped", size_text(job), seconds(job.duration_ns), job.events,
                  job.dropped));
  if (!report_.outcome.only.empty())
    add(body_, "p", "Looked for: " + slug_list(report_.outcome.only) + " only.");
  if (std::string failed = unexplained_failure_text(report_.outcome); !failed.empty())
    add(body_, "p", failed);
  if (report_.outcome.first_failure) add(body_, "p", first_failure_text(*report_.outcome.first_failure));
  for (const std::string& gone : report_.outcome.gone)
    add(body_, "p", "Gone since the baseline: " + escape(gone));
}

// The table's body.
pugi::xml_node Page::add_table(const char* id, const char* search,
                               std::initializer_list<const char*> columns) {
  auto field = add(body_, "input");
  field.append_attribute("type") = "search";
  field.append_attribute("placeholder") = search;
  field.append_attribute("aria-label") = search;
  field.append_attribute("data-table") = id;
  auto table = add(body_, "table");
  table.append_attribute("id") = id;
  auto row = add(add(table, "thead"), "tr");
  for (const char* column : columns) add(row, "th", column);
  return add(table, "tbody");
}

void Page::add_findings_table() {
  auto rows = add_table("findings", "search the findings", {"", "finding", "what", "ranks", "cost"});
  for (const Finding& finding : report_.outcome.findings) {
    bool known = finding.known_by != findings::KnownBy::kNobody;
    auto row = add(rows, "tr", "", known ? "known" : nullptr);
    add(row, "td", name_of(finding.severity), fmt::format("severity {}", name_of(finding.severity)).c_str());
    add(add(row, "td"), "a", finding.slug).append_attribute("href") = ("#" + finding.id).c_str();
    add(row, "td", escape(finding.title));
    add(row, "td", findings::list_numbers(finding.ranks, ", "));
    add(row, "td", cost_text(finding));
  }
}

void Page::add_picture(const Finding& finding) {
  auto found = report_.pictures.find(finding.id);
  if (found == report_.pictures.end()) return;
  if (found->second.png.empty()) {
    add(body_, "p", "No picture: " + escape(found->second.why_none), "quiet");
    return;
  }
  auto image = add(body_, "img");
  image.append_attribute("alt") = ("the time lines around the evidence: " + escape(finding.title)).c_str();
  image.append_attribute("src") = ("data:image/png;base64," + base64(found->second.png)).c_str();
}

void Page::add_evidence(pugi::xml_node list, const findings::Evidence& evidence) {
  std::string detail = evidence.detail.empty() ? "" : ": " + escape(evidence.detail);
  auto item = add(list, "li",
                  fmt::format("{:.6f} s rank {} ({}) {}{}", seconds(evidence.t_ns), evidence.rank,
                              escape(evidence.process), escape(evidence.call), detail));
  std::string below = evidence.file.empty() ? "" : "file " + escape(evidence.file) + "\n";
  for (const std::string& frame : evidence.stack) below += escape(frame) + "\n";
  if (!below.empty()) add(item, "pre", below);
}

void Page::add_advice(pugi::xml_node facts, const std::string& advice) {
  if (advice.empty()) return;
  add(facts, "dt", "fix");
  auto words = add(facts, "dd");
  for (const AdvicePart& part : advice_parts(advice)) {
    std::string text = escape(part.text);
    if (part.code)
      add(words, "code", text);
    else
      words.append_child(pugi::node_pcdata).set_value(text.c_str());
  }
}

void Page::add_finding(const Finding& finding) {
  auto heading = add(body_, "h2");
  heading.append_attribute("id") = finding.id.c_str();
  add(heading, "span", name_of(finding.severity), name_of(finding.severity));
  heading.append_child(pugi::node_pcdata)
      .set_value(fmt::format(": {} ({})", finding.slug, name_of(finding.confidence)).c_str());
  add(body_, "p", escape(finding.title));
  add_picture(finding);
  auto facts = add(body_, "dl");
  auto fact = [&](const char* name, const std::string& text) {
    if (text.empty()) return;
    add(facts, "dt", name);
    add(facts, "dd", text);
  };
  fact("when", fmt::format("{:.6f} s to {:.6f} s{}", seconds(finding.first_ns), seconds(finding.last_ns),
                           times_text(finding)));
  fact("cost", cost_text(finding));
  fact("causes", slug_list(finding.consequences));
  fact("known", known_text(finding));
  fact("new", worse_text(finding));
  add_advice(facts, finding.advice);
  fact("id", finding.id);
  add(body_, "p", "Evidence", "severity");
  auto list = add(body_, "ol");
  for (const findings::Evidence& evidence : finding.evidence) add_evidence(list, evidence);
  for (const findings::Order& order : finding.order) add(body_, "pre", order_text(order));
  if (std::string_view page = findings::page_of(finding.slug); !page.empty()) {
    auto details = add(body_, "details");
    add(details, "summary", "about " + finding.slug);
    add(details, "pre", page);
  }
}

void Page::add_coverage() {
  add(body_, "h2", "What this trace cannot show");
  if (report_.outcome.coverage.empty()) {
    add(body_, "p", "Nothing is missing.");
    return;
  }
  auto rows = add_table("coverage", "search what is not judged", {"what", "why", "unjudged"});
  for (const findings::Coverage& entry : report_.outcome.coverage) {
    auto row = add(rows, "tr");
    add(row, "td", escape(entry.what));
    add(row, "td", escape(entry.why));
    add(row, "td", slug_list(entry.unjudged));
  }
}

}  // namespace

std::string html_report(const Report& report) { return Page(report).run(); }

}  // namespace ddpscope::reports
