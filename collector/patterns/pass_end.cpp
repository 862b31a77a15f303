// By the pipes of loader workers, by the end of a file, by counts of what was read.
#include "collector/patterns/pass_end.h"

#include <fcntl.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "collector/files/read_items.h"
#include "collector/patterns/even_reads.h"

namespace ddpscope::patterns {
namespace {

using files::Item;
using files::ItemStream;
using trace::Operation;

// By the end of a pipe or socket. Workers of one loader may share one.
using Bytes = std::map<std::uint64_t, std::uint64_t>;

void add_bytes(const model::Job& job, std::uint32_t process, Operation operation, Bytes& bytes) {
  Bytes own;
  model::for_each(job.processes[process].file, {operation},
                  [&](model::EventPlace, const trace::Record& record) {
                    auto io = trace::payload_of<trace::payload::StreamIo>(record);
                    std::uint64_t& all = own[io.inode];
                    all = std::max(all, io.offset + io.bytes);  // the ring may have lost what was before
                  });
  for (const auto& [inode, count] : own) bytes[inode] += count;
}

Bytes bytes_sent_by_workers(const model::Job& job, std::int32_t rank) {
  Bytes sent;
  for (std::uint32_t i = 0; i < job.processes.size(); ++i)
    if (job.processes[i].rank == rank && job.processes[i].role == model::Role::kWorker)
      add_bytes(job, i, Operation::kStreamSend, sent);
  return sent;
}

Data data_of_workers(const model::Job& job, std::int32_t rank) {
  Bytes sent = bytes_sent_by_workers(job, rank), received;
  if (sent.empty()) return Data::kUnknown;
  for (std::uint32_t i = 0; i < job.processes.size(); ++i)
    if (job.processes[i].rank == rank && job.processes[i].role != model::Role::kWorker)
      add_bytes(job, i, Operation::kStreamReceive, received);
  Data data = Data::kUnknown;
  for (const auto& [inode, count] : sent) {
    auto taken = received.find(inode);
    if (taken == received.end()) continue;
    if (taken->second < count) return Data::kLeft;
    data = Data::kUsedUp;
  }
  return data;
}

// Loaders that start their workers anew for each pass talk to them through new pipes. When a pass ends, a
// loader that pins memory sends itself a last message through the old ones, so the latest message counts.
bool takes_from_new_workers(const model::Job& job, const LastStretch& stretch) {
  Bytes sent = bytes_sent_by_workers(job, stretch.rank);
  std::set<std::uint64_t> before;
  std::pair<std::int64_t, std::uint64_t> latest{};  // since the last step: when, through which pipe
  for (std::uint32_t i = 0; i < job.processes.size(); ++i) {
    if (job.processes[i].rank != stretch.rank || job.processes[i].role == model::Role::kWorker) continue;
    model::for_each(job.processes[i].file, {Operation::kStreamReceive},
                    [&](model::EventPlace, const trace::Record& record) {
                      auto io = trace::payload_of<trace::payload::StreamIo>(record);
                      if (!io.bytes || !sent.contains(io.inode)) return;
                      std::int64_t at = job.begin_ns(i, record);
                      if (at <= stretch.from_ns)
                        before.insert(io.inode);
                      else if (at < stretch.until_ns)
                        latest = std::max(latest, {at, io.inode});
                    });
  }
  return latest.first && !before.contains(latest.second);
}

// Follows what a rank's own process opens and reads.
class FileEnds {
 public:
  FileEnds(const model::Job& job, std::uint32_t process, const LastStretch& stretch)
      : job_(job), process_(process), stretch_(stretch) {}

  bool find() {
    const trace::TraceFile& file = job_.processes[process_].file;
    model::for_each_in_time(file, {Operation::kOpen, Operation::kRead},
                            [&](model::EventPlace, const trace::Record& record) {
                              if (trace::operation_of(record.call) == Operation::kOpen)
                                open(file, record);
                              else
                                read(record);
                            });
    return found_;
  }

 private:
  void open(const trace::TraceFile& file, const trace::Record& record) {
    auto opening = trace::payload_of<trace::payload::FileOpen>(record);
    bool reads = (opening.flags & (O_ACCMODE | O_DIRECTORY)) == O_RDONLY;
    std::int64_t at = job_.begin_ns(process_, record);
    if (opening.error || !opening.file || !reads || !files::is_data(file.string(opening.path))) return;
    opened_ns_[opening.file] = at;
    if (at < stretch_.until_ns) found_ = false;
  }
  void read(const trace::Record& record) {
    auto io = trace::payload_of<trace::payload::FileIo>(record);
    auto opened = opened_ns_.find(io.file);
    std::int64_t at = job_.begin_ns(process_, record);
    if (opened == opened_ns_.end() || io.error || at >= stretch_.until_ns) return;
    found_ = !io.bytes && at > stretch_.from_ns && serves_several_steps(opened->second);
  }
  bool serves_several_steps(std::int64_t opened_ns) const {
    const auto& steps = stretch_.steps_ns;
    return steps.size() > 1 && opened_ns < steps[steps.size() - 2];
  }

  const model::Job& job_;
  std::uint32_t process_;
  const LastStretch& stretch_;
  std::unordered_map<std::uint32_t, std::int64_t> opened_ns_;  // of data, by number
  bool found_ = false;
};

bool meets_end_of_file(const model::Job& job, const LastStretch& stretch) {
  std::int32_t process = job.process_of_rank(stretch.rank);
  return process >= 0 && FileEnds(job, static_cast<std::uint32_t>(process), stretch).find();
}

// The last item that was read for a rank in a stretch of time.
std::optional<Item> last_item(const model::Job& job, std::int32_t rank, std::int64_t from_ns,
                              std::int64_t until_ns) {
  std::optional<Item> last;
  for (const ItemStream& stream : files::find_item_streams(job, rank)) {
    std::int64_t from =
        stream.by_worker ? std::numeric_limits<std::int64_t>::min() : from_ns;  // it reads ahead
    for (const Item& item : stream.items)
      if (item.exact && item.at_ns > from && item.at_ns <= until_ns && (!last || item.at_ns > last->at_ns))
        last = item;
  }
  return last;
}

// What those that go on have read last was read more often than what those that are done have.
bool begin_new_pass(const model::Job& job, const std::vector<LastStretch>& done,
                    const std::vector<LastStretch>& going_on) {
  std::unordered_map<std::uint64_t, std::size_t> times;  // by key, of those asked for
  std::vector<std::uint64_t> of_done, of_others;
  for (const LastStretch& own : done)
    if (auto item = last_item(job, own.rank, std::numeric_limits<std::int64_t>::min(), own.from_ns))
      of_done.push_back(item->key);
  for (const LastStretch& own : going_on)
    if (auto item = last_item(job, own.rank, own.from_ns, own.until_ns)) of_others.push_back(item->key);
  if (of_done.empty() || of_others.empty()) return false;
  for (const auto* keys : {&of_done, &of_others})
    for (std::uint64_t key : *keys) times[key] = 0;
  for (const auto* side : {&done, &going_on})
    for (const LastStretch& own : *side)
      for (const ItemStream& stream : files::find_item_streams(job, own.rank))
        for (const Item& item : stream.items)
          if (auto asked = times.find(item.key); asked != times.end()) ++asked->second;
  auto less = [&](std::uint64_t a, std::uint64_t b) { return times.at(a) < times.at(b); };
  return times.at(*std::min_element(of_others.begin(), of_others.end(), less)) >
         times.at(*std::max_element(of_done.begin(), of_done.end(), less));
}

}  // namespace

Data find_data_left(const model::Job& job, const std::vector<LastStretch>& done,
                    const std::vector<LastStretch>& going_on) {
  bool known = true;
  for (const LastStretch& own : done) {
    Data data = data_of_workers(job, own.rank);
    if (data == Data::kLeft) return Data::kLeft;
    known = known && (data == Data::kUsedUp || meets_end_of_file(job, own));
  }
  auto anew = [&](const LastStretch& own) { return takes_from_new_workers(job, own); };
  if (std::any_of(going_on.begin(), going_on.end(), anew) || begin_new_pass(job, done, going_on))
    return Data::kLeft;
  if (!known) known = read_evenly(job, done, going_on);
  return known ? Data::kUsedUp : Data::kUnknown;
}

}  // namespace ddpscope::patterns
