// Fields in the order of their structures.
#include "collector/merged/facts_code.h"

namespace ddpscope::merged {
namespace {

void put(const JobFacts& job, ByteWriter& out) {
  out.put_text(job.source);
  out.put_text(job.version);
  out.put(job.start_unix_ns);
  out.put(job.duration_ns);
  out.put(job.calls);
  out.put(job.events);
  out.put(job.dropped);
  out.put(job.events_left_out);
  out.put(job.clock_error_ns);
  out.put(job.world_size);
  out.put(job.ranks);
  out.put(job.processes);
  out.put(job.attempt);
  out.put(job.other_attempts);
  out.put_text(job.gpu_timing);
  out.put(static_cast<std::uint8_t>(job.runs_on));
}

JobFacts get_job(ByteReader& in) {
  JobFacts job;
  job.source = in.get_text();
  job.version = in.get_text();
  job.start_unix_ns = in.get<std::uint64_t>();
  job.duration_ns = in.get<std::int64_t>();
  job.calls = in.get<std::uint64_t>();
  job.events = in.get<std::uint64_t>();
  job.dropped = in.get<std::uint64_t>();
  job.events_left_out = in.get<std::uint64_t>();
  job.clock_error_ns = in.get<std::int64_t>();
  job.world_size = in.get<std::int32_t>();
  job.ranks = in.get<std::int32_t>();
  job.processes = in.get<std::int32_t>();
  job.attempt = in.get<std::int32_t>();
  job.other_attempts = in.get<std::int32_t>();
  job.gpu_timing = in.get_text();
  job.runs_on = in.get<std::uint8_t>() != 0;
  return job;
}

void put(const HostRow& host, ByteWriter& out) {
  out.put_text(host.name);
  out.put_short(host.number);
  out.put(host.id);
  out.put(host.clock_error_ns);
  out.put_short(host.ranks.size());
  for (std::uint32_t rank : host.ranks) out.put_short(rank);
}

HostRow get_host(ByteReader& in) {
  HostRow host;
  host.name = in.get_text();
  host.number = static_cast<std::uint32_t>(in.get_short());
  host.id = in.get<std::uint64_t>();
  host.clock_error_ns = in.get<std::int64_t>();
  host.ranks.resize(in.get_count(1));
  for (std::uint32_t& rank : host.ranks) rank = static_cast<std::uint32_t>(in.get_short());
  return host;
}

void put(const RankRow& rank, ByteWriter& out) {
  out.put(rank.rank);
  out.put(rank.host);
  out.put(static_cast<std::uint8_t>(rank.missing));
  out.put(static_cast<std::uint8_t>(rank.numbered_by_start));
  out.put_text(rank.process);
  out.put_text(rank.role);
  out.put_text(rank.device);
  out.put(rank.first_ns);
  out.put(rank.last_ns);
  out.put_short(rank.dropped);
}

RankRow get_rank(ByteReader& in) {
  RankRow rank;
  rank.rank = in.get<std::int32_t>();
  rank.host = in.get<std::uint32_t>();
  rank.missing = in.get<std::uint8_t>() != 0;
  rank.numbered_by_start = in.get<std::uint8_t>() != 0;
  rank.process = in.get_text();
  rank.role = in.get_text();
  rank.device = in.get_text();
  rank.first_ns = in.get<std::int64_t>();
  rank.last_ns = in.get<std::int64_t>();
  rank.dropped = in.get_short();
  return rank;
}

void put(const ProcessRow& process, ByteWriter& out) {
  out.put_text(process.name);
  out.put(process.pid);
  out.put(process.host);
  out.put(process.rank);
  out.put_text(process.role);
  out.put_text(process.command);
}

ProcessRow get_process(ByteReader& in) {
  ProcessRow process;
  process.name = in.get_text();
  process.pid = in.get<std::int32_t>();
  process.host = in.get<std::uint32_t>();
  process.rank = in.get<std::int32_t>();
  process.role = in.get_text();
  process.command = in.get_text();
  return process;
}

template <class Row>
void put_rows(const std::vector<Row>& rows, ByteWriter& out) {
  out.put_short(rows.size());
  for (const Row& row : rows) put(row, out);
}

template <class Row>
std::vector<Row> get_rows(Row (*get)(ByteReader&), ByteReader& in) {
  std::vector<Row> rows(in.get_count(8));  // a row takes more
  for (Row& row : rows) row = get(in);
  return rows;
}

}  // namespace

void put_facts(const Facts& facts, ByteWriter& out) {
  put(facts.job, out);
  put_rows(facts.hosts, out);
  put_rows(facts.ranks, out);
  put_rows(facts.processes, out);
}

Facts get_facts(ByteReader& in) {
  Facts facts;
  facts.job = get_job(in);
  facts.hosts = get_rows<HostRow>(get_host, in);
  facts.ranks = get_rows<RankRow>(get_rank, in);
  facts.processes = get_rows<ProcessRow>(get_process, in);
  return facts;
}

}  // namespace ddpscope::merged
