// The words that findings are made of: evidence from an event, lists of ranks, code places.
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "collector/findings/finding.h"
#include "collector/matching/collectives.h"
#include "collector/model/job.h"
#include "collector/ordering/happens_before.h"
#include "collector/patterns/optimizer_updates.h"

namespace ddpscope::detectors {

struct CallFacts;

findings::Evidence evidence_of(const model::Job& job, model::EventRef event, std::string detail);
// Of a collective: the rank is that of its communicator's member.
findings::Evidence evidence_of(const model::Job& job, const matching::Collectives& collectives,
                               const matching::CollectiveCall& call, std::string detail);

// Where a graph runs the collective: the call that was captured.
void add_captured(const CallFacts& facts, const matching::CollectiveCall& call, findings::Finding& finding);

// Of the launch by which the end of an optimizer step is known, and how.
findings::Evidence evidence_of_update(const model::Job& job, std::uint32_t process,
                                      const patterns::Update& update);

// Of a read: the opening's file, and its stack where the read has none.
findings::Evidence evidence_of_read(const model::Job& job, model::EventRef read, model::EventRef opening,
                                    std::string detail);

// The frames of an event's stack, innermost first: "FILE:LINE FUNCTION", native ones resolved where debug
// information is at hand.
std::vector<std::string> stack_of(const model::Job& job, model::EventRef event);
// The innermost frame that is neither the language's library nor an installed package; the innermost of all
// without one; shortened as names are; empty without a stack.
std::string program_place(const model::Job& job, model::EventRef event);

// Why nothing orders the two, for Order::looked_for.
std::vector<findings::LookedFor> looked_for(const ordering::HappensBefore& order, const ordering::Span& first,
                                            const ordering::Span& second);

// "read of /data/a.bin": the call, and the file that it is about, if that is known.
std::string call_and_file(const model::Job& job, model::EventRef event);

using findings::list_numbers;
using findings::list_ranks;
// Of these members, ascending.
std::vector<std::int32_t> ranks_of(const matching::Communicator& communicator,
                                   const std::vector<std::uint32_t>& members);
// "ranks 0 and 2, and likewise ranks 1 and 3"; the first four sets.
std::string list_sets(const std::vector<std::vector<std::int32_t>>& sets,
                      std::string_view between = ", and likewise ");
// Of a sentence about all of them: as above, with the comma that two or more sets want behind them.
using SetsOfRanks = std::set<std::vector<std::int32_t>>;  // each ascending
std::string subject_of(const SetsOfRanks& sets);
std::vector<std::int32_t> union_of(const SetsOfRanks& sets);  // ascending, each once
const char* verb(const std::vector<std::int32_t>& ranks, const char* of_one, const char* of_many);
std::string at(const std::string& code_place);  // " at FILE:LINE FUNCTION", or nothing
std::string seconds(std::int64_t ns);           // "1.250 s"

}  // namespace ddpscope::detectors
