// Evidence by process and time.
#include "collector/merged/job_marks.h"

#include <algorithm>
#include <map>

#include "collector/model/process_name.h"

namespace ddpscope::merged {
namespace {

// Of a file that a job touches in every step the first ones tell the story.
constexpr std::size_t kMostAccesses = 100'000;

}  // namespace

JobMarks::JobMarks(const model::Job& job, const findings::Outcome& outcome) : named_(job.processes.size()) {
  std::map<std::string, std::vector<std::uint32_t>>
      processes;  // a pid may be that of several, one after another
  for (std::uint32_t i = 0; i < job.processes.size(); ++i)
    processes[model::process_name(job, job.processes[i])].push_back(i);
  for (std::uint32_t f = 0; f < outcome.findings.size(); ++f) {
    const findings::Finding& finding = outcome.findings[f];
    watched_.insert(finding.files.begin(), finding.files.end());
    auto severity = static_cast<std::uint8_t>(1 + static_cast<unsigned>(finding.severity));
    for (std::uint32_t e = 0; e < finding.evidence.size(); ++e) {
      const findings::Evidence& evidence = finding.evidence[e];
      if (!evidence.file.empty()) watched_.insert(evidence.file);
      for (std::uint32_t process : processes[evidence.process])
        named_[process].push_back({evidence.t_ns, evidence.call, f, e, severity});
    }
  }
  for (std::vector<Named>& named : named_)
    std::stable_sort(named.begin(), named.end(),
                     [](const Named& a, const Named& b) { return a.t_ns < b.t_ns; });
}

template <class Visit>
void JobMarks::for_each(std::uint32_t process, std::int64_t begin_ns, std::string_view call,
                        Visit&& visit) const {
  const std::vector<Named>& named = named_[process];
  if (named.empty() || begin_ns < named.front().t_ns || begin_ns > named.back().t_ns) return;
  auto at = std::lower_bound(named.begin(), named.end(), begin_ns,
                             [](const Named& each, std::int64_t t_ns) { return each.t_ns < t_ns; });
  for (; at != named.end() && at->t_ns == begin_ns; ++at)
    if (at->call == call) visit(*at);
}

std::uint8_t JobMarks::severity_of(std::uint32_t process, std::int64_t begin_ns,
                                   std::string_view call) const {
  std::uint8_t severity = kNoSeverity;
  for_each(process, begin_ns, call, [&](const Named& each) { severity = std::max(severity, each.severity); });
  return severity;
}

void JobMarks::note(std::uint32_t process, std::int64_t begin_ns, std::string_view call, EventPlace place) {
  for_each(process, begin_ns, call, [&](const Named& each) {
    marks_.push_back({place, each.finding, each.evidence, each.severity});
  });
}

void JobMarks::note_access(std::string_view path, std::int64_t begin_ns, EventPlace place) {
  auto& accesses = accesses_[std::string(path)];
  if (accesses.size() < kMostAccesses) accesses.emplace_back(begin_ns, place);
}

Accesses JobMarks::accesses() const {
  Accesses sorted;
  for (auto [path, accesses] : accesses_) {
    std::stable_sort(accesses.begin(), accesses.end());
    for (const auto& [begin_ns, place] : accesses) sorted[path].push_back(place);
  }
  return sorted;
}

}  // namespace ddpscope::merged
