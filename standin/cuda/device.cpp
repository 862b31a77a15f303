// Devices: CUDA_VISIBLE_DEVICES, the thread's current device, and the order among a device's streams.
#include "standin/cuda/device.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

#include "standin/cuda/device_properties.h"
#include "standin/cuda/entry.h"
#include "standin/cuda/observer.h"
#include "standin/cuda/uuid_text.h"

namespace ddpscope::standin {
namespace {

thread_local int current_ordinal = 0;
thread_local bool has_context = false;

void use_context_of(Device& device) {
  has_context = true;
  device.activate();
}

constexpr int kDevicesUnlessTold = 8;

// How many devices the host has; 0 where the variable makes no sense.
int read_device_count() {
  const char* variable = std::getenv("STANDIN_DEVICES");
  if (!variable) return kDevicesUnlessTold;
  const std::string_view text = variable;
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error == std::errc{} && end == text.data() + text.size() && count >= 1 && count <= kMostDevices)
    return count;
  std::fprintf(
      stderr,
      "standin libcudart: STANDIN_DEVICES is \"%s\", which is no number from 1 to %d: there is no device\n",
      variable, kMostDevices);
  return 0;
}

}  // namespace

int devices_of_host() {
  static const int kCount = read_device_count();
  return kCount;
}

cudaUUID_t uuid_of(int physical) {
  cudaUUID_t uuid{};
  std::memcpy(uuid.bytes, "CPU stand-in dev", sizeof uuid.bytes);
  uuid.bytes[15] = static_cast<char>(physical);
  return uuid;
}

namespace {

// One element of CUDA_VISIBLE_DEVICES: an index, or a prefix of "GPU-<uuid>" that fits one device only.
std::optional<int> physical_device(std::string_view element) {
  if (element.starts_with("GPU-")) {
    std::optional<int> match;
    for (int i = 0; i < devices_of_host(); ++i) {
      if (!uuid_text(uuid_of(i)).starts_with(element)) continue;
      if (match) return std::nullopt;
      match = i;
    }
    return match;
  }
  int number = 0;
  const auto [end, error] = std::from_chars(element.data(), element.data() + element.size(), number);
  const bool is_number = error == std::errc{} && end == element.data() + element.size();
  return is_number && number >= 0 && number < devices_of_host() ? std::optional(number) : std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// The list counts up to its first invalid element; a device named twice leaves none at all.
std::vector<int> parse_visible(std::string_view list) {
  std::vector<int> devices;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::optional<int> device = physical_device(trimmed(list.substr(0, comma)));
    if (!device) break;
    if (std::ranges::count(devices, *device) > 0) return {};
    devices.push_back(*device);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return devices;
}

std::vector<Device*> make_devices() {
  const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
  std::vector<int> physical(static_cast<std::size_t>(devices_of_host()));
  std::iota(physical.begin(), physical.end(), 0);
  if (list) physical = parse_visible(list);
  std::vector<Device*> devices;
  for (int number : physical) devices.push_back(new Device(static_cast<int>(devices.size()), number));
  return devices;
}

}  // namespace

const cudaDeviceProp& Device::properties() {
  std::call_once(properties_built_,
                 [this] { properties_ = std::make_unique<cudaDeviceProp>(describe(physical_)); });
  return *properties_;
}

const StreamRef& Device::legacy_stream() {
  std::call_once(legacy_made_, [this] { legacy_ = std::make_shared<Stream>(*this, StreamKind::kLegacy, 0); });
  return legacy_;
}

StreamRef Device::create_stream(StreamKind kind, int priority) {
  StreamRef stream = std::make_shared<Stream>(*this, kind, priority);
  std::lock_guard lock(mutex_);
  streams_.push_back(stream);
  return stream;
}

void Device::remove(Stream& stream) {
  std::lock_guard lock(mutex_);
  std::erase_if(streams_, [&](const StreamRef& other) { return other.get() == &stream; });
}

std::vector<Mark> Device::tails(bool blocking_only) {
  std::vector<Mark> marks;
  for (const StreamRef& stream : streams_) {
    if (!blocking_only || stream->kind() == StreamKind::kBlocking) marks.push_back(stream->tail());
  }
  marks.push_back(legacy_stream()->tail());
  return marks;
}

Mark Device::push_ordered(Stream& stream, Work work, std::vector<Mark> after) {
  const StreamRef& legacy = legacy_stream();
  std::lock_guard lock(mutex_);
  if (stream.kind() == StreamKind::kLegacy) {
    for (const Mark& mark : tails(true)) after.push_back(mark);
  } else {
    after.push_back(legacy->tail());
  }
  return stream.push(std::move(work), std::move(after));
}

std::vector<Mark> Device::legacy_scope() {
  std::lock_guard lock(mutex_);
  return tails(true);
}

void Device::activate() {
  if (active.load(std::memory_order_relaxed) || active.exchange(true)) return;
  if (Observer* const present = observer()) present->context_created(ordinal_);
}

void Device::synchronize() {
  std::vector<Mark> marks;
  {
    std::lock_guard lock(mutex_);
    marks = tails(false);
  }
  for (const Mark& mark : marks) mark.wait();
}

const std::vector<Device*>& visible_devices() {
  static const auto* devices = new std::vector<Device*>(make_devices());
  return *devices;
}

Device& device_at(int ordinal) {
  const std::vector<Device*>& devices = visible_devices();
  require(ordinal >= 0 && ordinal < static_cast<int>(devices.size()), cudaErrorInvalidDevice);
  return *devices[ordinal];
}

Device& chosen_device() { return device_at(current_ordinal); }

Device& current_device() {
  Device& device = chosen_device();
  use_context_of(device);
  return device;
}

void make_current(Device& device) {
  current_ordinal = device.ordinal();
  use_context_of(device);
}

bool thread_has_context() { return has_context; }

void leave_context() { has_context = false; }

}  // namespace ddpscope::standin
