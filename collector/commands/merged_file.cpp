// Facts, rows and events of a merged file as text.
#include "collector/commands/merged_file.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "collector/model/job.h"
#include "collector/reports/escape.h"
#include "collector/reports/phrases.h"

namespace ddpscope::commands {
namespace {

using reports::escape;
using reports::seconds;

void print_job(const merged::Reader& file) {
  const merged::JobFacts& job = file.job();
  auto start = static_cast<std::time_t>(job.start_unix_ns / 1'000'000'000u);
  fmt::print("job       {} on {} host{}, {}, attempt {}\n", reports::size_text(facts_of(file)),
             file.hosts().size(), file.hosts().size() == 1 ? "" : "s", reports::world_text(job.world_size),
             job.attempt);
  fmt::print("time      {:%Y-%m-%d %H:%M:%S} UTC, {:.3f} s\n", fmt::gmtime(start), seconds(job.duration_ns));
  fmt::print("events    {}, dropped {}\n", job.calls, job.dropped);
  if (job.clock_error_ns < model::kUnaligned)
    fmt::print("clock     hosts are at most {:.1f} us apart\n",
               static_cast<double>(job.clock_error_ns) * 1e-3);
  else
    fmt::print("clock     not all hosts are aligned: how far they are apart is not known\n");
  fmt::print("gpu times {}\n", escape(job.gpu_timing));
}

void print_file(const merged::Reader& file) {
  const merged::JobFacts& job = file.job();
  double each = job.events ? static_cast<double>(file.bytes()) / static_cast<double>(job.events) : 0;
  fmt::print("file      {} ({} bytes, {:.1f} an event), of {} by ddpscope {}{}\n",
             escape(file.path().string()), file.bytes(), each, escape(job.source), escape(job.version),
             job.runs_on ? ", while the job still ran" : "");
  fmt::print("lines     {} events on {} tracks, {} columns{}\n", job.events, file.tracks().size(),
             file.columns(),
             job.events_left_out ? fmt::format(", {} events left out", job.events_left_out) : "");
  std::size_t warnings = 0, errors = 0, evidence = 0, placed = 0;
  for (const findings::Finding& finding : file.outcome().findings) {
    errors += finding.severity == findings::Severity::kError;
    warnings += finding.severity == findings::Severity::kWarning;
    evidence += finding.evidence.size();
  }
  for (std::uint32_t f = 0; f < file.outcome().findings.size(); ++f)
    for (std::uint32_t e = 0; e < file.outcome().findings[f].evidence.size(); ++e)
      placed += file.place_of(f, e) != merged::kNoEvent;
  fmt::print("findings  {}, of them {} errors and {} warnings; {} of {} pieces of evidence are events\n",
             file.outcome().findings.size(), errors, warnings, placed, evidence);
}

void print_rows(const merged::Reader& file) {
  for (const merged::RankRow& row : file.ranks()) {
    std::string rank = row.rank < 0 ? row.role : fmt::format("rank {}", row.rank);
    if (row.missing) {
      fmt::print("{}: no trace\n", rank);
      continue;
    }
    fmt::print("{}: {}{}{}\n", rank, escape(row.process), row.device.empty() ? "" : ", ", escape(row.device));
    for (std::uint32_t i = row.first_track; i < row.first_track + row.tracks; ++i) {
      const merged::Track& track = file.tracks()[i];
      fmt::print("  {:12} {}, depth {}: {} events, {:.3f} s to {:.3f} s\n", merged::name_of(track.kind),
                 escape(track.label), track.depth, track.events, seconds(track.first_ns),
                 seconds(track.last_end_ns));
    }
  }
}

}  // namespace

std::optional<Error> check_merged(const TraceOptions& options) {
  if (options.attempt < 0) return std::nullopt;
  return Error{"a merged file holds one attempt", options.trace, "name the trace's folder for --attempt"};
}

reports::JobFacts facts_of(const merged::Reader& file) {
  const merged::JobFacts& job = file.job();
  reports::JobFacts facts;
  facts.ranks = static_cast<std::size_t>(std::max(job.ranks, 0));
  facts.processes = static_cast<std::size_t>(std::max(job.processes, 0));
  std::vector<merged::HostRow> hosts = file.hosts();
  std::sort(hosts.begin(), hosts.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  for (const merged::HostRow& host : hosts) facts.hosts.push_back(host.name);
  facts.attempt = job.attempt;
  facts.start_unix_ns = job.start_unix_ns;
  facts.duration_ns = job.duration_ns;
  facts.events = job.calls;
  facts.dropped = job.dropped;
  facts.clock_error_ns = job.clock_error_ns;
  facts.gpu_timing = job.gpu_timing;
  for (const merged::RankRow& row : file.ranks())
    if (row.numbered_by_start) facts.numbered_by_start.push_back(row.rank);
  return facts;
}

Outcome print_merged_info(const merged::Reader& file) {
  auto of_trace = file.info();
  if (!of_trace) return failed(of_trace.error());
  if (of_trace->empty())
    print_job(file);
  else
    fmt::print("{}\n", *of_trace);
  print_file(file);
  for (const merged::HostRow& host : file.hosts())
    fmt::print("host      {} (id {:016x}), {} rows\n", escape(host.name), host.id, host.ranks.size());
  for (std::uint32_t i = 0; i < file.communicators().size(); ++i) {
    const merged::CommunicatorRow& row = file.communicators()[i];
    auto first = file.collectives(i, 0, 1);
    bool messages = first && !first->empty() && first->front().is_message();
    fmt::print("communicator {} (id {:016x}), {} of {} members, {} {}\n", escape(row.name), row.id,
               row.members.size(), row.size, row.collectives, messages ? "messages" : "collectives");
  }
  fmt::print("\n");
  print_rows(file);
  return {};
}

Outcome dump_merged(const merged::Reader& file) {
  for (std::uint32_t track = 0; track < file.tracks().size(); ++track)
    for (std::uint64_t index = 0; index < file.tracks()[track].events; ++index) {
      auto detail = file.detail({track, index});
      if (!detail) return failed(detail.error());
      fmt::print("{}\n", merged::to_text(file, *detail));
    }
  return {};
}

}  // namespace ddpscope::commands
