// What stands on a bar.
#include "viewer/timeline/labels.h"

#include <fmt/format.h>

#include <algorithm>

namespace ddpscope::viewer {
namespace {

// "void at::native::vectorized_kernel<4, ...>(int, ...)" is "vectorized_kernel".
std::string_view kernel_name(std::string_view name) {
  if (std::size_t end = name.find_first_of("<("); end != std::string_view::npos && end > 0)
    name = name.substr(0, end);
  if (std::size_t space = name.rfind(' '); space != std::string_view::npos) name.remove_prefix(space + 1);
  if (std::size_t colon = name.rfind("::"); colon != std::string_view::npos) name.remove_prefix(colon + 2);
  return name;
}

std::string with_bytes(std::string text, std::uint64_t bytes) {
  return bytes ? text + " " + bytes_text(bytes) : text;
}

}  // namespace

std::string_view base_name(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos || slash + 1 == path.size() ? path : path.substr(slash + 1);
}

std::string numbers_of(const merged::CollectiveRef& collective) {
  if (collective.count == 0) return "";
  if (collective.count < 2) return fmt::format("#{}", collective.sequence);
  return fmt::format("#{}–#{}", collective.sequence, collective.sequence + collective.count - 1);
}

std::string numbers_of(const std::vector<merged::CollectiveRef>& collectives) {
  std::string text;
  for (const merged::CollectiveRef& each : collectives)
    if (each.count > 0) text += (text.empty() ? "" : ", ") + numbers_of(each);
  return text;
}

std::string plain_label(const merged::Event& event, std::string_view name) {
  switch (event.kind) {
    case Kind::kCompute:
    case Kind::kOptimizer:
      return std::string(kernel_name(name));
    case Kind::kWait:
      return fmt::format("waits in {}", name);
    case Kind::kSeen:
      return fmt::format("seen in {}", name);
    default:
      return std::string(name);
  }
}

std::string label_of(const merged::Detail& detail, std::string_view name) {
  const merged::Event& event = detail.event;
  switch (event.kind) {
    case Kind::kFileRead:
      return with_bytes(
          detail.file.empty() ? std::string(name) : fmt::format("read {}", base_name(detail.file)),
          detail.bytes);
    case Kind::kFileWrite:
      return with_bytes(
          detail.file.empty() ? std::string(name) : fmt::format("write {}", base_name(detail.file)),
          detail.bytes);
    case Kind::kTick:
      return detail.file.empty() ? std::string(name) : fmt::format("{} {}", name, base_name(detail.file));
    case Kind::kCopy:
      return with_bytes("copy", detail.bytes);
    case Kind::kBarrier:
      return numbers_of(detail.collectives) + " barrier";
    case Kind::kCollective:
    case Kind::kEnqueue:
      if (std::string numbers = numbers_of(detail.collectives); !numbers.empty())
        return fmt::format("{} {}", numbers, name.starts_with("nccl") ? name.substr(4) : name);
      return std::string(name);
    default:
      return plain_label(event, name);
  }
}

Labels::~Labels() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::string Labels::plain(merged::EventPlace place) const {
  merged::Event event = reader_.event(place);
  return plain_label(event, event.name < reader_.names().size() ? reader_.names()[event.name].text : "");
}

std::string Labels::made(merged::EventPlace place) const {
  auto detail = reader_.detail(place);
  if (!detail) return plain(place);
  std::uint32_t name = detail->event.name;
  return label_of(*detail, name < reader_.names().size() ? reader_.names()[name].text : "");
}

std::string Labels::of(merged::EventPlace place, WalkBudget& budget) {
  std::unique_lock lock(mutex_);
  if (auto found = made_.find(place); found != made_.end()) return found->second;
  if (!budget.limited()) return made_[place] = made(place);
  budget.leave_out();
  if (std::find(wanted_.begin(), wanted_.end(), place) == wanted_.end()) {
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    wanted_.push_back(place);
    if (wanted_.size() > kMostWanted) wanted_.pop_front();
    changed_.notify_one();
  }
  lock.unlock();
  return plain(place);
}

void Labels::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !wanted_.empty(); });
    if (stopping_) return;
    merged::EventPlace place = wanted_.back();
    lock.unlock();
    std::string label = made(place);
    lock.lock();
    std::erase(wanted_, place);
    if (made_.size() >= kMostKept) made_.clear();
    made_[place] = std::move(label);
    if (wanted_.empty() && wake_) wake_();
  }
}

}  // namespace ddpscope::viewer
