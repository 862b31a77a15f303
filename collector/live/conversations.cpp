// Ends of connections, then ranks that they join, then the pauses of each such group.
#include "collector/live/conversations.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "collector/detectors/hangs.h"
#include "collector/model/order_statistics.h"
#include "collector/ordering/stream_ends.h"

namespace ddpscope::live {
namespace {

using model::Job;
using ordering::StreamEnd;
using ordering::Transfer;

struct Message {
  std::int32_t from, to;  // ranks
  std::uint32_t process;  // that sent it
  std::int64_t begin_ns, end_ns;
  bool by_threads;  // both ends
};

bool main_thread_receives(const StreamEnd& end) {
  return std::any_of(end.received.begin(), end.received.end(), [](const Transfer& received) {
    return received.call.thread.thread == model::kMainThread;
  });
}

std::vector<Message> find_messages(const Job& job) {
  ordering::StreamEnds streams = ordering::find_stream_ends(job);
  std::vector<Message> messages;
  for (const auto& [id, end] : streams.ends) {
    if (!end.peer || *end.peer == id || end.of_store) continue;
    auto other = streams.ends.find(*end.peer);
    auto from = ordering::rank_process(job, end);
    auto to = other == streams.ends.end() ? std::nullopt : ordering::rank_process(job, other->second);
    if (!from || !to || job.processes[*from].rank == job.processes[*to].rank) continue;
    bool by_threads = !main_thread_receives(end) && !main_thread_receives(other->second);
    for (const Transfer& sent : end.sent) {
      bool under_way = sent.call.end_ns >= job.processes[*from].last_ns;
      messages.push_back({job.processes[*from].rank, job.processes[*to].rank, *from, sent.call.begin_ns,
                          under_way ? sent.call.begin_ns : sent.call.end_ns, by_threads});
    }
  }
  std::sort(messages.begin(), messages.end(),
            [](const Message& a, const Message& b) { return a.begin_ns < b.begin_ns; });
  return messages;
}

// The first rank of each group stands for it.
std::map<std::int32_t, std::int32_t> find_groups(const std::vector<Message>& messages) {
  std::map<std::int32_t, std::int32_t> first;
  auto find = [&](std::int32_t rank) {
    while (first.try_emplace(rank, rank).first->second != rank) rank = first.at(rank);
    return rank;
  };
  for (const Message& message : messages) {
    auto [low, high] = std::minmax({find(message.from), find(message.to)});
    first[high] = low;
  }
  for (auto& [rank, of] : first) of = find(rank);
  return first;
}

void add(const Message& message, Conversation& conversation, std::vector<std::int64_t>& pauses) {
  if (conversation.last_ns && message.begin_ns > conversation.last_ns)
    pauses.push_back(message.begin_ns - conversation.last_ns);
  conversation.last_ns = std::max(conversation.last_ns, message.end_ns);
  conversation.by_threads = conversation.by_threads && message.by_threads;
  Speaker& from = conversation.speakers[message.from];
  from.process = message.process;
  from.sent_ns = std::max(from.sent_ns, message.end_ns);
  conversation.speakers.try_emplace(message.to);
}

// By the rule for collectives, of pauses instead of operations.
void judge_pauses(std::vector<std::int64_t> pauses, Conversation& conversation) {
  conversation.needed_ns = detectors::kLongWait;
  if (pauses.empty()) return;
  constexpr std::size_t kPercentile = 99, kOf = 100;
  conversation.usual_ns = *std::max_element(pauses.begin(), pauses.end());
  std::int64_t most = model::value_at(pauses, pauses.size() * kPercentile / kOf);
  conversation.needed_ns = detectors::least_hang(most, conversation.usual_ns);
}

}  // namespace

std::vector<Conversation> find_conversations(const Job& job) {
  const std::vector<Message> messages = find_messages(job);
  const std::map<std::int32_t, std::int32_t> groups = find_groups(messages);
  std::map<std::int32_t, std::pair<Conversation, std::vector<std::int64_t>>> by_group;
  for (const Message& message : messages) {
    auto& [conversation, pauses] = by_group[groups.at(message.from)];
    add(message, conversation, pauses);
  }
  std::vector<Conversation> found;
  for (auto& [group, of] : by_group) {
    auto& [conversation, pauses] = of;
    for (auto& [rank, speaker] : conversation.speakers)
      if (!speaker.sent_ns) speaker.process = static_cast<std::uint32_t>(job.process_of_rank(rank));
    for (const Message& message : messages) {
      auto asked = conversation.speakers.find(message.to);
      if (asked == conversation.speakers.end()) continue;
      Speaker& speaker = asked->second;
      std::int64_t error = job.clock_error_between(message.process, speaker.process);
      speaker.was_asked = speaker.was_asked || message.end_ns - error > speaker.sent_ns;
    }
    judge_pauses(std::move(pauses), conversation);
    found.push_back(std::move(conversation));
  }
  return found;
}

}  // namespace ddpscope::live
