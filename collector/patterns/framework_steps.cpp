// One pass over a process, in the order in which calls began.
#include "collector/patterns/framework_steps.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "collector/matching/collectives.h"
#include "collector/matching/group_collectives.h"
#include "collector/model/nccl_types.h"
#include "collector/patterns/training_steps.h"
#include "trace/process_groups.h"

namespace ddpscope::patterns {
namespace {

using model::EventPlace;
using trace::Call;
using trace::Operation;
using trace::Record;
namespace payload = trace::payload;

constexpr trace::OperationSet kExchanges{
    Operation::kAllReduce, Operation::kReduceScatter,   Operation::kReduce,
    Operation::kBroadcast, Operation::kAllGather,       Operation::kGather,
    Operation::kScatter,   Operation::kAllToAll,        Operation::kSend,
    Operation::kReceive,   Operation::kGroupCollective, Operation::kGroupPointToPoint};
constexpr trace::OperationSet kTraining{Operation::kBackward,      Operation::kGradientReducer,
                                        Operation::kOptimizerStep, Operation::kZeroGradients,
                                        Operation::kForward,       Operation::kProcessGroup};

// Of PyTorch's groups and of NCCL's communicators, whose records are laid out alike.
struct Exchange {
  std::int64_t begin_ns;
  std::uint16_t thread;
  Operation operation;  // as NCCL's are named
  std::uint32_t group;  // its number in the process
  std::uint64_t count, bytes;
  bool by_reducer;
  bool numbers;  // floating-point, or of unknown type
};

void insert(std::vector<Reducer>& set, Reducer reducer) {
  auto at = std::ranges::lower_bound(set, reducer);
  if (at == set.end() || *at != reducer) set.insert(at, reducer);
}

class Reader {
 public:
  Reader(const model::Job& job, std::uint32_t process) : job_(job), process_(process) {
    for (const model::Membership& member : job.processes[process].memberships)
      sizes_[member.communicator] = member.size;
  }

  FrameworkSteps read() {
    model::for_each_in_time(job_.processes[process_].file, kTraining | kExchanges,
                            [&](EventPlace place, const Record& record) { take(place, record); });
    end_step();
    end_last_step();
    for (FrameworkStep& step : result_.steps)
      for (BackwardPass& pass : step.passes)
        if (pass.used_before) pass.reduced.clear();
    result_.has_peers = std::ranges::any_of(sizes_, [](const auto& of) { return of.second > 1; });
    return overlap_ ? FrameworkSteps{} : std::move(result_);
  }

 private:
  void take(EventPlace place, const Record& record);
  void begin_pass(EventPlace place, const Record& record);
  void begin_step(EventPlace place, const Record& record);
  void end_step();
  void give_back_use();
  void keep_latest_passes(std::uint64_t count);
  void end_last_step();
  void take_reducer(EventPlace place, const Record& record);
  Reducer number_of(std::uint64_t object);
  void take_exchange(const Record& record);
  Exchange exchange_of(const Record& record) const;
  BackwardPass* pass_at(std::int64_t at_ns);
  void carry(const Exchange& exchange, BackwardPass& pass);
  void take_own(const Exchange& exchange, bool in_pass);
  bool is_sharded(const Exchange& exchange) const;
  void keep_forward(const Record& record);
  bool in_forward(const Exchange& exchange) const;

  struct OpenStep {
    model::EventRef event;
    std::int64_t begin_ns, end_ns;
    bool is_named;
    std::uint64_t passes;  // whose gradients had added up, of one that is not named; 0: not known
  };

  const model::Job& job_;
  std::uint32_t process_;
  FrameworkSteps result_;
  std::optional<OpenStep> step_;              // of the optimizer, until something begins behind it
  std::map<std::uint64_t, Reducer> numbers_;  // of objects
  Reducer last_ = 0;
  std::vector<BackwardPass> passes_;             // since the last step, or zero_grad
  std::map<std::uint64_t, std::int64_t> own_;    // reductions since the last pass: the first, by group
  std::set<std::uint64_t> own_in_pass_;          // groups on which a pass since the last step made such
  std::map<std::uint32_t, std::int32_t> sizes_;  // of groups and communicators, by number in the process
  std::map<std::uint32_t, std::uint64_t> ids_;   // of groups, likewise
  std::map<std::uint16_t, std::int64_t> inside_until_ns_;   // the end of PyTorch's last call, by thread
  std::map<std::uint16_t, std::int64_t> sharded_;           // when FSDP has taken gradients, by thread
  std::map<std::uint16_t, std::int64_t> forward_until_ns_;  // of a wrapper, by thread
  bool forward_ = false;                                    // of the wrapper, since the last pass
  bool exchanged_ = false;                                  // by the program, since the first of the passes
  bool reducing_ = false;                                   // a reducer has begun to, in the last pass
  bool overlap_ = false;
};

// The last one, if it is under way at that moment.
BackwardPass* Reader::pass_at(std::int64_t at_ns) {
  return passes_.empty() || passes_.back().end_ns < at_ns ? nullptr : &passes_.back();
}

void Reader::begin_pass(EventPlace place, const Record& record) {
  auto data = trace::payload_of<payload::TrainingCall>(record);
  if (!(data.flags & trace::kAccumulate)) return;
  std::int64_t begin_ns = job_.begin_ns(process_, record);
  result_.broken.reset();
  if (data.result || !record.end) {
    result_.broken = BackwardPass{{process_, place}, begin_ns, job_.end_ns(process_, record), {}, {}};
    return;
  }
  overlap_ = overlap_ || pass_at(begin_ns) != nullptr;
  own_.clear();
  if (passes_.empty()) exchanged_ = false;
  reducing_ = false;
  BackwardPass pass{{process_, place}, begin_ns, job_.end_ns(process_, record), {}, {}};
  pass.through_wrapper = forward_;
  forward_ = false;
  passes_.push_back(std::move(pass));
}

// It may be given a closure, whose passes are then part of it. One that runs within a pass, for a part of the
// parameters, is over with the pass.
void Reader::begin_step(EventPlace place, const Record& record) {
  auto data = trace::payload_of<payload::TrainingCall>(record);
  std::int64_t begin_ns = job_.begin_ns(process_, record), end_ns = job_.end_ns(process_, record);
  if (BackwardPass* pass = pass_at(begin_ns)) {
    end_ns = std::max(end_ns, pass->end_ns);
    pass->used_before = pass->used_before || !reducing_;
  } else {
    give_back_use();
  }
  step_ = OpenStep{{process_, place},
                   begin_ns,
                   end_ns,
                   static_cast<Call>(record.call) == Call::optimizer_step,
                   data.object};
}

// A further optimizer runs behind the pass: it uses what was reduced, and the one within had parameters of
// its own.
void Reader::give_back_use() {
  if (!passes_.empty() || result_.steps.empty()) return;
  BackwardPass& last = result_.steps.back().passes.back();
  if (!std::exchange(last.used_before, false)) return;
  for (Reducer reducer : last.reduced) insert(result_.reducers, reducer);
}

// Writes that are not seen (parameter.data) may have used the others' gradients. Of one pass alone it is
// known without a count.
void Reader::keep_latest_passes(std::uint64_t count) {
  if (passes_.size() <= 1) return;
  auto kept = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(count, passes_.size()));
  passes_.erase(passes_.begin(), passes_.end() - kept);
}

void Reader::end_step() {
  if (!step_) return;
  OpenStep step = *std::exchange(step_, std::nullopt);
  auto own = std::exchange(own_, {});
  const auto in_pass = std::exchange(own_in_pass_, {});
  if (result_.broken && result_.broken->begin_ns >= step.begin_ns) return passes_.clear();
  result_.broken.reset();
  if (!step.is_named) {
    keep_latest_passes(step.passes);
    own.clear();  // what is reduced until the next pass may be anything, not what an optimizer waits for
  }
  if (passes_.empty()) return;  // a second optimizer
  for (const auto& [id, at_ns] : own) {
    result_.own_reductions[id].times_ns.push_back(at_ns);
    result_.own_reductions[id].in_pass += in_pass.contains(id);
  }
  bool inside = passes_.back().begin_ns >= step.begin_ns;
  std::int64_t begin_ns = passes_.front().begin_ns;
  result_.steps.push_back({step.event, begin_ns, inside ? step.end_ns : step.begin_ns, std::move(passes_),
                           step.is_named, exchanged_});
  passes_.clear();
}

// That parameters have changed is found when the next pass begins: behind the last one nobody looks.
void Reader::end_last_step() {
  if (result_.steps.empty() || result_.steps.back().is_named ||
      passes_.size() != result_.steps.back().passes.size())
    return;
  const BackwardPass last = passes_.back();
  std::int64_t begin_ns = passes_.front().begin_ns;
  result_.steps.push_back({last.event, begin_ns, last.end_ns, std::move(passes_), false, exchanged_});
}

Reducer Reader::number_of(std::uint64_t object) {
  auto [known, fresh] = numbers_.emplace(object, last_ + 1);
  last_ += fresh;
  return known->second;
}

void Reader::take_reducer(EventPlace place, const Record& record) {
  std::int64_t at_ns = job_.begin_ns(process_, record);
  BackwardPass* pass = pass_at(at_ns);
  auto data = trace::payload_of<payload::TrainingCall>(record);
  auto call = static_cast<Call>(record.call);
  if (call == Call::reducer_end) {  // another object may get its address
    bool used = numbers_.erase(data.object) > 0;
    bool first = result_.steps.empty() && passes_.empty() && !result_.discarded;
    if (!used && first) result_.discarded = {process_, place};
    return;
  }
  if (!pass || data.result) return;
  switch (call) {
    case Call::reducer_gradients:
      return insert(pass->given, number_of(data.object));
    case Call::sharded_gradients:
      sharded_[record.thread] = job_.end_ns(process_, record);
      return insert(pass->given, kSharded);
    case Call::reducer_finish:
      insert(pass->reduced, number_of(data.object));
      if (pass->used_before) return;
      return insert(result_.reducers, number_of(data.object));
    default:
      return;
  }
}

Exchange Reader::exchange_of(const Record& record) const {
  Operation operation = matching::group_operation_of(record);
  auto of = [&](const auto& data, bool by_reducer) {
    std::uint64_t bytes = matching::bytes_of({operation, data.datatype, data.reduction, -1, data.count});
    bool numbers = model::is_float(data.datatype) || data.datatype == 0xFF;
    auto size = sizes_.find(data.communicator);
    std::uint64_t count = size != sizes_.end() && size->second > 1 ? data.count : 0;
    return Exchange{job_.begin_ns(process_, record),
                    record.thread,
                    operation,
                    data.communicator,
                    count,
                    count ? bytes : 0,
                    by_reducer,
                    numbers};
  };
  Operation recorded = trace::operation_of(record.call);
  if (recorded != Operation::kGroupCollective && recorded != Operation::kGroupPointToPoint)
    return of(trace::payload_of<payload::Collective>(record), false);
  auto data = trace::payload_of<payload::GroupCollective>(record);
  return of(data, data.flags & trace::kByReducer);
}

bool Reader::is_sharded(const Exchange& exchange) const {
  auto until = sharded_.find(exchange.thread);
  return until != sharded_.end() && exchange.begin_ns <= until->second;
}

// FSDP's wrappers hold others.
void Reader::keep_forward(const Record& record) {
  forward_ = true;
  std::int64_t& until_ns = forward_until_ns_[record.thread];
  until_ns = std::max(until_ns, job_.end_ns(process_, record));
}

// Statistics and buffers of the model, activations.
bool Reader::in_forward(const Exchange& exchange) const {
  auto until = forward_until_ns_.find(exchange.thread);
  return until != forward_until_ns_.end() && exchange.begin_ns <= until->second;
}

void Reader::carry(const Exchange& exchange, BackwardPass& pass) {
  pass.bytes += exchange.bytes;
  auto id = ids_.find(exchange.group);
  if (id == ids_.end()) return;
  std::vector<std::int64_t>& times = result_.carried[id->second];
  if (times.empty() || times.back() < pass.begin_ns) times.push_back(exchange.begin_ns);
}

void Reader::take_own(const Exchange& exchange, bool in_pass) {
  bool reduces = exchange.operation == Operation::kAllReduce || exchange.operation == Operation::kReduce ||
                 exchange.operation == Operation::kReduceScatter;
  auto id = ids_.find(exchange.group);
  if (!reduces || !exchange.numbers || passes_.empty() || id == ids_.end()) return;
  if (in_pass)
    own_in_pass_.insert(id->second);
  else
    own_.try_emplace(id->second, exchange.begin_ns);
}

void Reader::take_exchange(const Record& record) {
  // What PyTorch calls of NCCL is part of its own call.
  bool by_nccl = trace::operation_of(record.call) != Operation::kGroupCollective &&
                 trace::operation_of(record.call) != Operation::kGroupPointToPoint;
  std::int64_t& inside_until_ns = inside_until_ns_[record.thread];
  if (by_nccl && job_.begin_ns(process_, record) <= inside_until_ns) return;
  if (!by_nccl) inside_until_ns = job_.end_ns(process_, record);
  Exchange exchange = exchange_of(record);
  reducing_ = reducing_ || exchange.by_reducer;
  if (!exchange.count) return;  // with nobody else
  BackwardPass* pass = pass_at(exchange.begin_ns);
  bool reduces =
      exchange.operation == Operation::kAllReduce || exchange.operation == Operation::kReduceScatter;
  if (exchange.by_reducer) {
    if (pass) carry(exchange, *pass);
  } else if (pass && reduces && is_sharded(exchange)) {
    carry(exchange, *pass);
    insert(pass->reduced, kSharded);
    insert(result_.reducers, kSharded);
  } else if (exchange.count > kFewElements && !in_forward(exchange)) {
    take_own(exchange, pass != nullptr);
    bool gathers = exchange.operation == Operation::kAllGather || exchange.operation == Operation::kGather;
    bool within_step = !passes_.empty();
    exchanged_ = exchanged_ || within_step;
    if (!within_step && (!exchange.numbers || gathers)) return;
    result_.last_exchange_ns = exchange.begin_ns;
    if (!within_step && !result_.steps.empty()) result_.steps.back().bytes_behind += exchange.bytes;
  }
}

void Reader::take(EventPlace place, const Record& record) {
  if (step_ && job_.begin_ns(process_, record) > step_->end_ns) end_step();
  switch (trace::operation_of(record.call)) {
    case Operation::kBackward:
      return begin_pass(place, record);
    case Operation::kOptimizerStep:
      return begin_step(place, record);
    case Operation::kZeroGradients:
      if (pass_at(job_.begin_ns(process_, record))) return;  // of the parameters that it is done with
      own_.clear();
      own_in_pass_.clear();
      return passes_.clear();
    case Operation::kForward:
      return keep_forward(record);
    case Operation::kProcessGroup: {
      auto data = trace::payload_of<payload::ProcessGroup>(record);
      sizes_[data.communicator] = data.size;
      ids_[data.communicator] = data.id;
      return;
    }
    case Operation::kGradientReducer:
      return take_reducer(place, record);
    default:
      return take_exchange(record);
  }
}

constexpr std::size_t kLeastSteps = 3;

}  // namespace

std::vector<UnreducedSteps> find_unreduced_steps(const FrameworkSteps& found) {
  std::map<Reducer, std::vector<const FrameworkStep*>> of_reducer;
  std::vector<const FrameworkStep*> of_none;
  for (const FrameworkStep& step : found.steps) {
    std::set<Reducer> given;
    for (const BackwardPass& pass : step.passes) given.insert(pass.given.begin(), pass.given.end());
    if (given.empty()) of_none.push_back(&step);
    for (Reducer reducer : given)
      if (reducer != kSharded && !std::ranges::binary_search(found.reducers, reducer))
        of_reducer[reducer].push_back(&step);
  }
  std::vector<UnreducedSteps> result;
  auto add = [&](std::vector<const FrameworkStep*>&& steps, bool discarded) {
    if (steps.size() < kLeastSteps) return;
    bool exchanged = found.last_exchange_ns >= steps.front()->begin_ns;
    result.push_back({std::move(steps), discarded, exchanged});
  };
  for (auto& [reducer, steps] : of_reducer) add(std::move(steps), false);
  if (found.discarded && of_none.size() == found.steps.size()) add(std::move(of_none), true);
  return result;
}

FrameworkSteps find_framework_steps(const model::Job& job, std::uint32_t process) {
  bool trains = std::ranges::any_of(job.processes[process].file.records(), [](const auto& span) {
    return span.operations.meets({Operation::kBackward});
  });
  return trains ? Reader(job, process).read() : FrameworkSteps{};
}

std::vector<FrameworkSteps> find_framework_steps(const model::Job& job) {
  std::vector<FrameworkSteps> steps;
  for (std::uint32_t process = 0; process < job.processes.size(); ++process)
    steps.push_back(find_framework_steps(job, process));
  return steps;
}

}  // namespace ddpscope::patterns
