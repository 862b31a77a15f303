// What a detector says, and what it could not judge. Mirrors the JSON contract of `report --format json`;
// times are nanoseconds since the job's start.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ddpscope::findings {

enum class Severity : std::uint8_t { kInfo, kWarning, kError };
enum class Confidence : std::uint8_t { kPossible, kLikely, kCertain };
const char* name_of(Severity severity);
std::optional<Severity> severity_named(std::string_view name);
const char* name_of(Confidence confidence);

// One call that the story is made of. Stack: innermost frame first, "FILE:LINE FUNCTION".
struct Evidence {
  std::int32_t rank = -1;
  std::string process;  // HOST:PID
  std::int64_t t_ns = 0;
  std::string call;
  std::string detail;
  std::string file;  // path that the call concerns, empty if none
  std::vector<std::string> stack;
};

// Whether a frame of a stack belongs to the language's library or an installed package, not to the program.
bool is_library_frame(std::string_view frame);
bool is_in_package(std::string_view frame);  // an installed one of Python

// "FILE:LINE FUNCTION" taken apart; of a frame without a line ("MODULE FUNCTION+0x1f") all is the file.
struct FrameParts {
  std::string_view file, line, function;
};
FrameParts parts_of(std::string_view frame);

// What of a frame, and of a stack, a key is made of: equal wherever, and however often, the program is
// installed and built, if its lines are the same. That is no folder; no function of C++ where there is a
// line, since how a lambda is called depends on how much debug information there is; and nothing of what the
// language's library is made of. Packages count by their functions, not lines, where a frame of the program
// is there, too: so ids stay while they are upgraded.
std::string key_of_frame(std::string_view frame);
std::string key_of_stack(const std::vector<std::string>& stack);

// What of a key stays while lines are put in above: "train.py main" of "train.py:88 main".
std::string without_lines(std::string_view key);

std::vector<std::string> runs_of(const std::vector<std::int32_t>& numbers);  // ascending: "0-3", "7"
// "0, 2 and 3"; of many by runs, and no more of these than a reader looks at: "0-3, 7, 9-11, … (999)".
std::string list_numbers(const std::vector<std::int32_t>& numbers, std::string_view before_last = " and ");
std::string list_ranks(const std::vector<std::int32_t>& ranks);  // "rank 1", "ranks 0, 2 and 3"

struct Cost {
  double ms_per_step = 0;
  std::uint64_t bytes_per_step = 0;
};

struct LookedFor {
  std::string edge;
  std::string found;
};

// For pairs that nothing orders: where the search began and ended, and which edges it missed.
struct Order {
  std::string last_before;
  std::string first_after;
  std::vector<LookedFor> looked_for;
};

// Where a finding sits in the job: the stretch between two synchronisations of the ranks concerned. It
// reaches to the end of the job if a rank ended or blocked because of it.
struct Place {
  std::vector<std::int32_t> ranks;  // ascending
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
  bool its_files_only = false;  // what happens to other files there is not its doing
  // Of what ranks call otherwise on one communicator: which, and the number of the divergence, in their
  // order.
  std::optional<std::uint32_t> communicator{};
  std::size_t divergence = 0;
};

// Who knows a finding already, so that it fails no gate.
enum class KnownBy : std::uint8_t { kNobody, kBaseline, kSuppression };

struct Finding {
  std::string slug;
  Severity severity = Severity::kError;
  Confidence confidence = Confidence::kCertain;
  std::string title;                // one sentence
  std::vector<std::int32_t> ranks;  // at fault, ascending
  std::set<std::string> files;      // paths that it is about; empty if it is about none
  std::uint64_t count = 1;
  std::uint64_t shown = 1;  // of these times in the evidence
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  Cost cost;
  std::string advice;
  std::vector<std::string> consequences;  // slugs, set by attribution
  std::vector<Order> order;               // empty or one
  std::vector<Evidence> evidence;         // in the order of the story
  Place place;
  // Ranks that ended of what it is about, as their own calls show: they raised for a file that was gone.
  std::set<std::int32_t> ended{};
  // What tells this bug from another of its slug: calls and places in the code (by key_of_frame(),
  // key_of_stack()), never pids or paths of a run.
  std::string key;
  std::string id;  // from slug, key and ranks, set by attribution
  KnownBy known_by = KnownBy::kNobody;
  std::string known_because{};           // of a suppression: until when, and why
  std::optional<Severity> worse_than{};  // what the baseline has it as: so that does not know it
};

// Of its evidence, the frame that stands for the finding wherever one is wanted: the first that its title
// names. Empty if it names none.
std::string frame_in_title(const Finding& finding);

// Silence is never taken for health: what could not be seen, why, and which findings that leaves unjudged.
struct Coverage {
  std::string what;
  std::string why;
  std::vector<std::string> unjudged;  // slugs
  bool entirely = false;              // nothing of these was judged; else some of it was
};

// The rank that failed before any other did: no bug that has a name, but where to look first.
struct FirstFailure {
  Evidence evidence;   // detail: how it ended, "exited with 1 at train.py:88 main (RuntimeError)"
  std::string others;  // how the other ranks ended, "rank 0 exited with 1; ranks 2 and 3 ..."
};

// Ranks failed (collector/detectors/rank_ends.h): a job that failed is never "nothing found" without a word.
struct JobFailure {
  std::vector<std::int32_t> ranks;          // that failed, as far as their numbers are known, ascending
  std::int32_t first_rank = -1;             // that began to end before the others; -1: not known which
  std::int64_t t_ns = 0;                    // when that began to end
  std::string how;                          // "rank 1 exited with 1 at train.py:88 main (RuntimeError)"
  std::vector<std::string> explained_by{};  // ids of findings, set by attribution

  bool explained() const { return !explained_by.empty(); }
};

struct Outcome {
  // Detectors that leave something unjudged for the same reason share an entry.
  void leave_unjudged(Coverage entry);

  std::vector<Finding> findings;
  std::vector<Coverage> coverage;
  std::vector<std::string> only{};  // slugs that were looked for; empty: all
  std::optional<FirstFailure> first_failure{};
  std::optional<JobFailure> failure{};
  bool compared = false;            // with a baseline
  std::vector<std::string> gone{};  // that it has and this job has not: "SLUG (finding ID)"
};

}  // namespace ddpscope::findings
