// By the place in the program that looks for the file.
#include "collector/detectors/other_disks.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "collector/detectors/story.h"
#include "collector/patterns/other_disks.h"

namespace ddpscope::detectors {
namespace {

using patterns::FileElsewhere;

constexpr std::size_t kMaxTold = 8;

std::int32_t rank_of(const Facts& facts, const FileElsewhere& file) {
  return facts.job.processes[file.failed.process].rank;
}

const std::string& host_of(const Facts& facts, std::uint32_t host) { return facts.job.hosts[host].name; }

std::string title_of(const Facts& facts, const std::vector<FileElsewhere>& files,
                     const std::vector<std::int32_t>& ranks) {
  const FileElsewhere& first = files.front();
  std::set<std::string> hosts;
  for (const FileElsewhere& file : files)
    hosts.insert(host_of(facts, facts.job.processes[file.failed.process].host));
  std::string where = hosts.size() == 1 ? *hosts.begin() : "their own hosts";
  return fmt::format(
      "{} {} on {} for {}{}, which lies on a disk of {}: rank {} writes it there, and no rank of {} does",
      list_ranks(ranks), verb(ranks, "looks", "look"), where, first.path, at(facts.places.of(first.failed)),
      host_of(facts, first.written->host), first.written->rank,
      hosts.size() == 1 ? "this host" : "these hosts");
}

findings::Evidence tell_call(const Facts& facts, model::EventRef event, std::string_view path,
                             std::string detail) {
  findings::Evidence evidence = evidence_of(facts.job, event, std::move(detail));
  evidence.file = path;
  return evidence;
}

void tell_story(const Facts& facts, const std::vector<FileElsewhere>& files, findings::Finding& finding) {
  const files::WrittenFile& written = *files.front().written;
  finding.evidence.push_back(tell_call(facts, written.open, written.path,
                                       fmt::format("writes {} bytes on {}, to a disk that only this host has",
                                                   written.bytes, host_of(facts, written.host))));
  for (const FileElsewhere& file : files) {
    if (finding.evidence.size() >= kMaxTold) break;
    const model::Process& process = facts.job.processes[file.failed.process];
    const trace::FileHeader& header = process.header();
    finding.evidence.push_back(tell_call(
        facts, file.failed, file.path,
        fmt::format("finds nothing under this path on {}, and ends {}", host_of(facts, process.host),
                    header.ended ? fmt::format("with exit code {}", header.exit_code) : "with a traceback")));
  }
  auto earlier = [](const findings::Evidence& a, const findings::Evidence& b) { return a.t_ns < b.t_ns; };
  std::stable_sort(finding.evidence.begin(), finding.evidence.end(), earlier);
}

void tell(const Facts& facts, const std::vector<FileElsewhere>& files, findings::Outcome& outcome) {
  findings::Finding finding;
  finding.slug = "rank-mismatch";
  finding.confidence = findings::Confidence::kCertain;
  std::set<std::int32_t> ranks;
  finding.first_ns = std::numeric_limits<std::int64_t>::max();
  for (const FileElsewhere& file : files) {
    ranks.insert(rank_of(facts, file));
    finding.files.insert(std::string(file.path));
    finding.first_ns = std::min(finding.first_ns, facts.job.begin_ns(file.failed));
    finding.last_ns = std::max(finding.last_ns, facts.job.end_ns(file.failed));
  }
  finding.ranks.assign(ranks.begin(), ranks.end());
  finding.title = title_of(facts, files, finding.ranks);
  finding.advice =
      "Choose who writes by where it writes: on a disk that each host has for itself one rank of each host "
      "(LOCAL_RANK 0), on storage that all hosts share RANK 0 alone. Or put these files on shared storage.";
  tell_story(facts, files, finding);
  // These ranks ended by it.
  finding.place = facts.rounds.place(finding.ranks, finding.first_ns, finding.last_ns);
  finding.place.to_ns = std::numeric_limits<std::int64_t>::max();
  finding.key = fmt::format("disk {}", facts.places.whole(files.front().failed));
  outcome.findings.push_back(std::move(finding));
}

}  // namespace

void tell_other_disks(const Facts& facts, findings::Outcome& outcome) {
  std::map<std::string, std::vector<FileElsewhere>> bugs;
  for (const FileElsewhere& file : patterns::find_files_elsewhere(facts.job, facts.written))
    bugs[facts.places.of(file.failed)].push_back(file);
  for (const auto& [place, files] : bugs) tell(facts, files, outcome);
}

}  // namespace ddpscope::detectors
