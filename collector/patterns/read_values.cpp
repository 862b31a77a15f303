// One pass over a rank's numbers and digests, beside its collectives.
#include "collector/patterns/read_values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <tuple>
#include <unordered_map>

#include "collector/matching/call_sites.h"
#include "collector/model/mix.h"
#include "collector/model/time_order.h"
#include "collector/patterns/training_steps.h"

namespace ddpscope::patterns {
namespace {

using trace::Operation;
namespace payload = trace::payload;

// Of what a training computes nothing is smaller; small integers are, taken for numbers of single or double
// precision, and they are to count as nothing.
constexpr double kLeast = 1e-30;

// Of its stack: how far out it leads may differ from rank to rank, where code has no frame pointers.
constexpr std::size_t kFramesOfPlace = 4;

std::uint64_t mix(std::initializer_list<std::uint64_t> words) {
  std::uint64_t hash = 0;
  for (std::uint64_t word : words) hash = model::mix(hash, word);
  return hash;
}

double number_of(const payload::ValueRead& read) {
  double number = read.bytes == sizeof(float)
                      ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(read.value)))
                      : std::bit_cast<double>(read.value);
  return std::abs(number) < kLeast ? 0 : number;
}

class Reader {
 public:
  Reader(const model::Job& job, const matching::Collectives& collectives, std::uint32_t communicator,
         const matching::Member& member)
      : job_(job),
        collectives_(collectives),
        next_(collectives.first_of_process[member.process]),
        end_(collectives.first_of_process[member.process + 1]),
        communicator_(communicator),
        result_{member.rank, member.process} {}

  void see(model::EventPlace place, const trace::Record& record);
  RankValues finish();

 private:
  // Where the rank stood when it read at a place in the code.
  struct Visit {
    std::uint64_t collectives = 0;
    std::uint32_t inputs = 0;
  };

  struct Found {
    ReadValue read;             // slot: place and size only
    std::uint64_t collectives;  // since the last one of its slot
  };

  void pass_collectives(std::int64_t until_ns);
  std::uint64_t place_of(std::uint32_t stack);

  const model::Job& job_;
  const matching::Collectives& collectives_;
  std::uint32_t next_, end_;  // calls that were not passed yet
  std::uint32_t communicator_;
  std::uint32_t step_ = 0;
  std::uint64_t passed_ = 0;  // a sum over the collectives so far: their order does not count
  std::unordered_map<std::uint64_t, Visit> visits_;          // by place and size
  std::unordered_map<std::uint32_t, std::uint64_t> places_;  // by stack
  std::vector<Found> found_;
  RankValues result_;
};

// A communicator of part of the ranks is another, whatever it carries.
void Reader::pass_collectives(std::int64_t until_ns) {
  const auto& calls = collectives_.calls;
  for (; next_ < end_ && calls.begin_ns(next_) <= until_ns; ++next_) {
    const matching::CallForm& form = calls.form(next_);
    const matching::Signature& signature = form.signature;
    auto size = static_cast<std::uint64_t>(collectives_.communicators[form.communicator].size);
    bool own = form.communicator == communicator_;
    passed_ += mix({static_cast<std::uint64_t>(signature.operation), signature.datatype, signature.reduction,
                    signature.count, size, own});
    step_ += own && is_reduction(signature);
  }
}

std::uint64_t Reader::place_of(std::uint32_t stack) {
  auto [known, fresh] = places_.try_emplace(stack, 0);
  if (!fresh) return known->second;
  auto frames = matching::hash_frames(job_.processes[result_.process].file, stack);
  frames.resize(std::min(frames.size(), kFramesOfPlace));
  for (std::uint64_t frame : frames) known->second = mix({known->second, frame});
  return known->second;
}

void Reader::see(model::EventPlace place, const trace::Record& record) {
  if (trace::operation_of(record.call) == Operation::kCopyDigest) {
    auto digest = trace::payload_of<payload::CopyDigest>(record);
    return result_.inputs.push_back(mix({digest.hash, digest.bytes}));
  }
  pass_collectives(job_.time_ns(result_.process, record.begin));
  auto read = trace::payload_of<payload::ValueRead>(record);
  std::uint64_t site = mix({place_of(record.stack), read.bytes});
  Visit& last = visits_[site];
  Visit now{passed_, static_cast<std::uint32_t>(result_.inputs.size())};
  ReadValue found{step_, site, number_of(read), last.inputs, now.inputs, place};
  found_.push_back({found, now.collectives - last.collectives});
  last = now;
}

RankValues Reader::finish() {
  auto key = [](const Found& found) { return std::tuple(found.read.step, found.read.slot); };
  std::ranges::stable_sort(found_, {}, key);
  for (auto first = found_.begin(); first != found_.end();) {
    auto end =
        std::find_if(first, found_.end(), [&](const Found& found) { return key(found) != key(*first); });
    auto count = static_cast<std::uint64_t>(end - first);
    for (std::uint64_t index = 0; first != end; ++first, ++index) {
      first->read.slot = mix({first->read.slot, first->collectives, index, count});
      result_.values.push_back(first->read);
    }
  }
  std::ranges::sort(result_.values, {},
                    [](const ReadValue& read) { return std::tuple(read.step, read.slot); });
  return std::move(result_);
}

}  // namespace

const ReadValue* RankValues::find(std::uint32_t step, std::uint64_t slot) const {
  auto key = [](const ReadValue& read) { return std::tuple(read.step, read.slot); };
  auto found = std::ranges::lower_bound(values, std::tuple(step, slot), {}, key);
  return found != values.end() && key(*found) == std::tuple(step, slot) ? &*found : nullptr;
}

RankValues find_values(const model::Job& job, const matching::Collectives& collectives,
                       std::uint32_t communicator, const matching::Member& member) {
  constexpr trace::OperationSet kValues{Operation::kValueRead};
  constexpr trace::OperationSet kWanted{Operation::kValueRead, Operation::kCopyDigest};
  const trace::TraceFile& file = job.processes[member.process].file;
  if (file.count(kValues) == 0) return {member.rank, member.process};
  Reader reader(job, collectives, communicator, member);
  model::for_each_in_time(file, kWanted, [&](model::EventPlace place, const trace::Record& record) {
    reader.see(place, record);
  });
  return reader.finish();
}

}  // namespace ddpscope::patterns
