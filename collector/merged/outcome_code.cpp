// Fields in the order of their structures.
#include "collector/merged/outcome_code.h"

#include <algorithm>

namespace ddpscope::merged {
namespace {

using findings::Confidence;
using findings::Coverage;
using findings::Evidence;
using findings::Finding;
using findings::Severity;

// Lists of anything: a count, then each.
template <class List, class Put>
void put_list(const List& list, ByteWriter& out, Put&& put) {
  out.put_short(list.size());
  for (const auto& each : list) put(each);
}

template <class Get>
auto get_list(ByteReader& in, std::size_t least_bytes, Get&& get) {
  std::vector<decltype(get())> list;
  for (std::size_t left = in.get_count(least_bytes); left > 0 && in.ok(); --left) list.push_back(get());
  return list;
}

void put_texts(const std::vector<std::string>& texts, ByteWriter& out) {
  put_list(texts, out, [&](const std::string& text) { out.put_text(text); });
}

std::vector<std::string> get_texts(ByteReader& in) {
  return get_list(in, 1, [&] { return in.get_text(); });
}

void put_ranks(const std::vector<std::int32_t>& ranks, ByteWriter& out) {
  put_list(ranks, out, [&](std::int32_t rank) { out.put_near(rank); });
}

std::vector<std::int32_t> get_ranks(ByteReader& in) {
  return get_list(in, 1, [&] { return static_cast<std::int32_t>(in.get_near()); });
}

template <class Enum>
Enum get_enum(ByteReader& in, Enum last) {
  return std::min(in.get<Enum>(), last);
}

void put_evidence(const Evidence& evidence, ByteWriter& out) {
  out.put_near(evidence.rank);
  out.put_text(evidence.process);
  out.put(evidence.t_ns);
  out.put_text(evidence.call);
  out.put_text(evidence.detail);
  out.put_text(evidence.file);
  put_texts(evidence.stack, out);
}

Evidence get_evidence(ByteReader& in) {
  Evidence evidence;
  evidence.rank = static_cast<std::int32_t>(in.get_near());
  evidence.process = in.get_text();
  evidence.t_ns = in.get<std::int64_t>();
  evidence.call = in.get_text();
  evidence.detail = in.get_text();
  evidence.file = in.get_text();
  evidence.stack = get_texts(in);
  return evidence;
}

void put_order(const findings::Order& order, ByteWriter& out) {
  out.put_text(order.last_before);
  out.put_text(order.first_after);
  put_list(order.looked_for, out, [&](const findings::LookedFor& each) {
    out.put_text(each.edge);
    out.put_text(each.found);
  });
}

findings::Order get_order(ByteReader& in) {
  findings::Order order;
  order.last_before = in.get_text();
  order.first_after = in.get_text();
  order.looked_for = get_list(in, 2, [&] {
    findings::LookedFor each;
    each.edge = in.get_text();
    each.found = in.get_text();
    return each;
  });
  return order;
}

void put_finding(const Finding& finding, ByteWriter& out) {
  out.put_text(finding.slug);
  out.put(finding.severity);
  out.put(finding.confidence);
  out.put_text(finding.title);
  put_ranks(finding.ranks, out);
  put_list(finding.files, out, [&](const std::string& file) { out.put_text(file); });
  out.put_short(finding.count);
  out.put_short(finding.shown);
  out.put(finding.first_ns);
  out.put(finding.last_ns);
  out.put(finding.cost.ms_per_step);
  out.put_short(finding.cost.bytes_per_step);
  out.put_text(finding.advice);
  put_texts(finding.consequences, out);
  put_list(finding.order, out, [&](const findings::Order& order) { put_order(order, out); });
  put_list(finding.evidence, out, [&](const Evidence& evidence) { put_evidence(evidence, out); });
  put_ranks(finding.place.ranks, out);
  out.put(finding.place.from_ns);
  out.put(finding.place.to_ns);
  out.put(static_cast<std::uint8_t>(finding.place.its_files_only));
  put_ranks({finding.ended.begin(), finding.ended.end()}, out);
  out.put_text(finding.key);
  out.put_text(finding.id);
}

Finding get_finding(ByteReader& in) {
  Finding finding;
  finding.slug = in.get_text();
  finding.severity = get_enum(in, Severity::kError);
  finding.confidence = get_enum(in, Confidence::kCertain);
  finding.title = in.get_text();
  finding.ranks = get_ranks(in);
  std::vector<std::string> files = get_texts(in);
  finding.files.insert(files.begin(), files.end());
  finding.count = in.get_short();
  finding.shown = in.get_short();
  finding.first_ns = in.get<std::int64_t>();
  finding.last_ns = in.get<std::int64_t>();
  finding.cost.ms_per_step = in.get<double>();
  finding.cost.bytes_per_step = in.get_short();
  finding.advice = in.get_text();
  finding.consequences = get_texts(in);
  finding.order = get_list(in, 3, [&] { return get_order(in); });
  finding.evidence = get_list(in, 14, [&] { return get_evidence(in); });
  finding.place.ranks = get_ranks(in);
  finding.place.from_ns = in.get<std::int64_t>();
  finding.place.to_ns = in.get<std::int64_t>();
  finding.place.its_files_only = in.get<std::uint8_t>() != 0;
  std::vector<std::int32_t> ended = get_ranks(in);
  finding.ended.insert(ended.begin(), ended.end());
  finding.key = in.get_text();
  finding.id = in.get_text();
  return finding;
}

void put_outcome(const findings::Outcome& outcome, ByteWriter& out) {
  put_list(outcome.findings, out, [&](const Finding& finding) { put_finding(finding, out); });
  put_list(outcome.coverage, out, [&](const Coverage& entry) {
    out.put_text(entry.what);
    out.put_text(entry.why);
    put_texts(entry.unjudged, out);
    out.put(static_cast<std::uint8_t>(entry.entirely));
  });
  put_texts(outcome.only, out);
  out.put(static_cast<std::uint8_t>(outcome.first_failure.has_value()));
  if (outcome.first_failure) {
    put_evidence(outcome.first_failure->evidence, out);
    out.put_text(outcome.first_failure->others);
  }
  out.put(static_cast<std::uint8_t>(outcome.failure.has_value()));
  if (!outcome.failure) return;
  put_ranks(outcome.failure->ranks, out);
  out.put_near(outcome.failure->first_rank);
  out.put(outcome.failure->t_ns);
  out.put_text(outcome.failure->how);
  put_texts(outcome.failure->explained_by, out);
}

findings::Outcome get_outcome(ByteReader& in) {
  findings::Outcome outcome;
  outcome.findings = get_list(in, 60, [&] { return get_finding(in); });
  outcome.coverage = get_list(in, 4, [&] {
    Coverage entry;
    entry.what = in.get_text();
    entry.why = in.get_text();
    entry.unjudged = get_texts(in);
    entry.entirely = in.get<std::uint8_t>() != 0;
    return entry;
  });
  outcome.only = get_texts(in);
  if (in.get<std::uint8_t>() != 0) {
    outcome.first_failure.emplace();
    outcome.first_failure->evidence = get_evidence(in);
    outcome.first_failure->others = in.get_text();
  }
  if (in.get<std::uint8_t>() == 0) return outcome;
  outcome.failure.emplace();
  outcome.failure->ranks = get_ranks(in);
  outcome.failure->first_rank = static_cast<std::int32_t>(in.get_near());
  outcome.failure->t_ns = in.get<std::int64_t>();
  outcome.failure->how = in.get_text();
  outcome.failure->explained_by = get_texts(in);
  return outcome;
}

void put_place(EventPlace place, ByteWriter& out) {
  out.put_short(place.track);
  out.put_short(place.index);
}

EventPlace get_place(ByteReader& in) {
  EventPlace place;
  place.track = static_cast<std::uint32_t>(in.get_short());
  place.index = in.get_short();
  return place;
}

}  // namespace

void put_found(const Found& found, ByteWriter& out) {
  put_outcome(found.outcome, out);
  put_list(found.marks, out, [&](const Mark& mark) {
    put_place(mark.event, out);
    out.put_short(mark.finding);
    out.put_short(mark.evidence);
    out.put(mark.severity);
  });
  put_list(found.accesses, out, [&](const auto& file) {
    out.put_text(file.first);
    put_list(file.second, out, [&](EventPlace place) { put_place(place, out); });
  });
  put_list(found.problems, out, [&](const Error& problem) {
    out.put_text(problem.what);
    out.put_text(problem.where);
    out.put_text(problem.hint);
  });
}

Found get_found(ByteReader& in) {
  Found found;
  found.outcome = get_outcome(in);
  found.marks = get_list(in, 5, [&] {
    Mark mark;
    mark.event = get_place(in);
    mark.finding = static_cast<std::uint32_t>(in.get_short());
    mark.evidence = static_cast<std::uint32_t>(in.get_short());
    mark.severity = in.get<std::uint8_t>();
    return mark;
  });
  for (std::size_t left = in.get_count(2); left > 0 && in.ok(); --left) {
    std::string path = in.get_text();
    found.accesses[path] = get_list(in, 2, [&] { return get_place(in); });
  }
  found.problems = get_list(in, 3, [&] {
    Error problem;
    problem.what = in.get_text();
    problem.where = in.get_text();
    problem.hint = in.get_text();
    return problem;
  });
  return found;
}

}  // namespace ddpscope::merged
