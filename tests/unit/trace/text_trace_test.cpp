// The text-trace compiler: what a text says is what its files hold.
#include "tests/tools/text_trace.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/tools/mistake.h"
#include "tests/tools/text_expression.h"
#include "trace/read/clock_line.h"
#include "trace/read/trace_file.h"

namespace ddpscope::tests {
namespace {

using trace::TraceFile;

class TextTrace : public testing::Test {
 protected:
  TextTrace() {
    std::string name = (std::filesystem::temp_directory_path() / "ddpscope-text-XXXXXX").string();
    if (mkdtemp(name.data())) folder_ = name;
  }
  ~TextTrace() override { std::filesystem::remove_all(folder_); }

  // The only file of the text, or the one whose name starts with `prefix`.
  TraceFile compile(std::string_view text, const std::string& prefix = "") {
    if (std::filesystem::is_empty(folder_)) {
      auto compiled = compile_text_trace(text, folder_);
      if (!compiled) throw std::runtime_error(compiled.error().where + ": " + compiled.error().what);
    }
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      if (entry.path().filename().string().starts_with(prefix))
        return std::move(*TraceFile::open(entry.path()));
    throw std::runtime_error("no such file");
  }

  std::string mistake(std::string_view text) {
    auto compiled = compile_text_trace(text, folder_);
    return compiled ? "compiled" : compiled.error().where + ": " + compiled.error().what;
  }

  std::filesystem::path folder_;
};

// Records of a call, in order.
std::vector<trace::Record> records_of(const TraceFile& file, trace::Call call) {
  std::vector<trace::Record> found;
  for (const trace::RecordSpan& span : file.records())
    for (const trace::Record& record : span.records)
      if (record.call == static_cast<std::uint16_t>(call)) found.push_back(record);
  return found;
}

TEST_F(TextTrace, EventBecomesARecord) {
  TraceFile file = compile(R"(
    process r0 rank=3 world=4 host=node7 pid=55
    r0/2 1.5 +0.25 ncclBroadcast communicator=2 count=4K datatype=bf16 peer=1 stream=0x10 result=6)");
  EXPECT_EQ(file.host(), "node7");
  EXPECT_EQ(file.header().pid, 55);
  trace::Record record = records_of(file, trace::Call::ncclBroadcast).at(0);
  auto payload = trace::payload_of<trace::payload::Collective>(record);
  EXPECT_EQ(record.thread, 2);
  EXPECT_EQ(record.end - record.begin, 250'000'000u);
  EXPECT_EQ(payload.communicator, 2u);
  EXPECT_EQ(payload.count, 4096u);
  EXPECT_EQ(payload.datatype, 9);
  EXPECT_EQ(payload.peer, 1);
  EXPECT_EQ(payload.stream, 0x10u);
  EXPECT_EQ(payload.result, 6);
}

TEST_F(TextTrace, RankAndWorldAreEnvironmentVariables) {
  TraceFile file = compile("process r0 rank=3 world=4 LOCAL_RANK=1");
  std::vector<std::string> settings;
  for (const trace::Record& record : records_of(file, trace::Call::environment)) {
    auto setting = trace::payload_of<trace::payload::Setting>(record);
    settings.push_back(std::string(file.string(setting.name)) + "=" +
                       std::string(file.string(setting.value)));
  }
  EXPECT_EQ(settings, (std::vector<std::string>{"RANK=3", "WORLD_SIZE=4", "LOCAL_RANK=1"}));
}

TEST_F(TextTrace, InsideLeavesTheRecordOpen) {
  TraceFile file = compile("process r0 until=30\nr0 2 inside ncclAllReduce");
  EXPECT_EQ(records_of(file, trace::Call::ncclAllReduce).at(0).end, 0u);
  EXPECT_EQ(file.header().latest.ticks - file.header().opened.ticks, 30'000'000'000u);
}

TEST_F(TextTrace, SequencesCountPerCommunicator) {
  TraceFile file = compile(R"(
    process r0
    r0 3 +0 ncclAllReduce communicator=1
    r0 1 +0 ncclAllReduce communicator=1
    r0 2 +0 ncclAllReduce communicator=2
    r0 4 +0 ncclAllReduce communicator=1 sequence=7
    r0 5 +0 ncclAllReduce communicator=1)");
  std::vector<std::uint32_t> sequences;
  for (const trace::Record& record : records_of(file, trace::Call::ncclAllReduce))
    sequences.push_back(trace::payload_of<trace::payload::Collective>(record).sequence);
  EXPECT_EQ(sequences, (std::vector<std::uint32_t>{0, 0, 1, 7, 8}));
}

TEST_F(TextTrace, LoopsNestAndShiftTime) {
  TraceFile file = compile(R"(
    process r0
    for step in 0..2 every 1 {
      for bucket in 1..2 every 0.1 {
        r0 10 +0.01 ncclAllReduce count=${step * 10 + bucket}
      }
    })");
  std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
  std::vector<trace::Record> records = records_of(file, trace::Call::ncclAllReduce);
  for (const trace::Record& record : records)
    found.emplace_back(trace::payload_of<trace::payload::Collective>(record).count,
                       (record.begin - records[0].begin) / 1'000'000);
  EXPECT_EQ(found, (decltype(found){{1, 0}, {2, 100}, {11, 1000}, {12, 1100}, {21, 2000}, {22, 2100}}));
}

TEST_F(TextTrace, PatternNamesSeveralProcesses) {
  constexpr std::string_view kText = R"(
    for r in 0..2 {
      process r$r pid=${100+r}
    }
    r* 1 +0 ncclAllReduce
    r0,r2 2 +0 ncclBroadcast)";
  EXPECT_EQ(records_of(compile(kText, "a.100."), trace::Call::ncclBroadcast).size(), 1u);
  EXPECT_EQ(records_of(compile(kText, "a.101."), trace::Call::ncclBroadcast).size(), 0u);
  EXPECT_EQ(records_of(compile(kText, "a.101."), trace::Call::ncclAllReduce).size(), 1u);
}

TEST_F(TextTrace, StringsStacksAndFlagsAreStored) {
  TraceFile file = compile(R"(
    let who = a name
    process r0
    r0 1 +0 open path="out/$who.pt" flags=wronly|creat|0x40000 error=EACCES stack="a.py:3 f < b/c.py:7 <module>")");
  trace::Record record = records_of(file, trace::Call::open).at(0);
  auto payload = trace::payload_of<trace::payload::FileOpen>(record);
  EXPECT_EQ(file.string(payload.path), "out/a name.pt");
  EXPECT_EQ(payload.flags, 01u | 0100u | 0x40000u);
  EXPECT_EQ(payload.error, EACCES);
  EXPECT_EQ(payload.inode, 0u) << "it failed";
  auto stack = file.stack(record.stack);
  ASSERT_EQ(stack.size(), 2u);
  EXPECT_EQ(file.string(stack[1].file), "b/c.py");
  EXPECT_EQ(file.string(stack[1].function), "<module>");
  EXPECT_EQ(stack[1].line, 7u);
}

TEST_F(TextTrace, InodesFollowRenameAndUnlink) {
  TraceFile file = compile(R"(
    process r0
    r0 1 +0 open path=tmp
    r0 2 +0 rename path=tmp target=final
    r0 3 +0 open path=final
    r0 4 +0 unlink path=final
    r0 5 +0 open path=final
    r0 6 +0 open path=tmp)");
  std::vector<std::uint64_t> inodes;
  for (const trace::Record& record : records_of(file, trace::Call::open))
    inodes.push_back(trace::payload_of<trace::payload::FileOpen>(record).inode);
  ASSERT_EQ(inodes.size(), 4u);
  EXPECT_EQ(inodes[0], inodes[1]);
  EXPECT_NE(inodes[1], inodes[2]);
  EXPECT_NE(inodes[2], inodes[3]);
  EXPECT_NE(inodes[0], inodes[3]);
}

TEST_F(TextTrace, HostsHaveClocksOfTheirOwn) {
  TraceFile file = compile(R"(
    host b monotonic=+5 realtime=-0.5 drift=100
    process r0 host=b
    r0 10 +1 ncclAllReduce)");
  trace::Record record = records_of(file, trace::Call::ncclAllReduce).at(0);
  EXPECT_EQ(record.begin, 1'015'001'000'000u);
  EXPECT_EQ(record.end - record.begin, 1'000'100'000u);
  EXPECT_EQ(file.header().opened.realtime_ns, 1'699'999'999'500'000'000u);
}

TEST_F(TextTrace, HandOversAreOfAllUntilNow) {
  TraceFile file = compile(R"(
    host a monotonic=3 drift=100
    process r0 rank=0 world=1
    r0/2 10.0 +0 sem_wait from_thread=1
    r0/2 10.5 +0 pthread_cond_wait from_thread=1 from_ticks=10.25
    r0/2 11.0 +0 pthread_cond_wait from_thread=1 kind=mutex flags=relock|uncertain
    r0/2 12.0 +0 mtx_lock from_thread=1 module=libx.so site=0x71)");
  auto hand_over = [&file](trace::Call call, std::size_t which) {
    return trace::payload_of<trace::payload::HandOver>(records_of(file, call).at(which));
  };
  trace::Record taken = records_of(file, trace::Call::sem_wait).at(0);
  EXPECT_EQ(hand_over(trace::Call::sem_wait, 0).from_ticks, taken.begin);
  EXPECT_EQ(hand_over(trace::Call::sem_wait, 0).kind, 2);
  trace::Record woken = records_of(file, trace::Call::pthread_cond_wait).at(0);
  auto signalled = hand_over(trace::Call::pthread_cond_wait, 0);
  EXPECT_EQ(woken.begin - signalled.from_ticks, 250'025'000u);  // by this host's clock
  EXPECT_EQ(signalled.kind, 1);
  EXPECT_EQ(hand_over(trace::Call::pthread_cond_wait, 1).kind, 3);
  EXPECT_EQ(hand_over(trace::Call::pthread_cond_wait, 1).flags, 3);
  EXPECT_EQ(hand_over(trace::Call::mtx_lock, 0).kind, 3);
  EXPECT_EQ(file.string(hand_over(trace::Call::mtx_lock, 0).module), "libx.so");
}

TEST_F(TextTrace, ExitAndHealthGoToTheHeader) {
  TraceFile file = compile("process r0\nr0 1 +0 exit status=3\nhealth r0 items_lost=7");
  EXPECT_EQ(file.header().ended, 1u);
  EXPECT_EQ(file.header().exit_code, 3);
  EXPECT_EQ(file.health(trace::Health::items_lost), 7u);
}

TEST_F(TextTrace, ItemsAndParentsAreWritten) {
  constexpr std::string_view kText =
      "process r0 pid=7\nprocess w0 pid=8 parent=r0\nw0 1 item file=2 offset=4K bytes=100";
  TraceFile file = compile(kText, "a.8.");
  EXPECT_EQ(file.header().parent_pid, 7);
  ASSERT_EQ(file.items().size(), 1u);
  EXPECT_EQ(file.items()[0].items[0].offset, 4096u);
}

TEST_F(TextTrace, MistakesNameTheLine) {
  EXPECT_EQ(mistake("process r0\nr0 1 +0 ncclAllReduc"), "line 2: no call 'ncclAllReduc'");
  EXPECT_EQ(mistake("process r0\n\nr0 1 +0 ncclAllReduce cont=1"), "line 3: no field 'cont'");
  EXPECT_EQ(mistake("r0 1 +0 ncclAllReduce"), "line 1: no process 'r0'");
  EXPECT_EQ(mistake("process r0\nr0 1 0.1 ncclAllReduce"), "line 2: '0.1' is no duration");
  EXPECT_EQ(mistake("process r0\nr0 x +0 ncclAllReduce"), "line 2: 'x' is no time");
  EXPECT_EQ(mistake("process r0\nr0 1 +0 ncclAllReduce device=300"),
            "line 2: '300' does not fit into the field 'device'");
  EXPECT_EQ(mistake("process r0\nr0 1 +0 ncclAllReduce datatype=f31"), "line 2: 'f31' is no number");
  EXPECT_EQ(mistake("process r0\nfor i in 0..3 {\n"), "line 2: a block without '}'");
  EXPECT_EQ(mistake("process r0\n}"), "line 2: '}' without a block");
  EXPECT_EQ(mistake("process r0 path=\"x"), "line 1: a quote is not closed");
  EXPECT_EQ(mistake("process r$r"), "line 1: no variable '$r'");
  EXPECT_EQ(mistake("let a = $a\nprocess r$a"), "line 2: a variable contains itself");
  EXPECT_EQ(mistake("process r0\nhealth r0 none=1"), "line 2: no health counter 'none'");
  EXPECT_EQ(mistake("# nothing"), ": no process is declared");
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(TextTrace, FolderWithTracesIsLeftAlone) {
  compile("process r0");
  EXPECT_EQ(mistake("process r1"), folder_.string() + ": the folder already holds traces");
}

TEST_F(TextTrace, ExampleOfTheReadmeCompiles) {
  std::ifstream in(TOOLS_README);
  std::string readme{std::istreambuf_iterator<char>(in), {}};
  std::size_t begin = readme.find("```\n") + 4;
  std::size_t end = readme.find("```\n", begin);
  ASSERT_NE(end, std::string::npos);
  EXPECT_EQ(mistake(readme.substr(begin, end - begin)), "compiled");
}

TEST(Expression, KnowsArithmetic) {
  Variables variables = {{"step", "7"}, {"twice", "$step"}};
  EXPECT_EQ(evaluate("1 + 2 * 3", {}), 7);
  EXPECT_EQ(evaluate("-(step - 9) * 0.5", variables), 1);
  EXPECT_EQ(evaluate("step // 2 + step % 2", variables), 4);
  EXPECT_EQ(evaluate("0x10 + twice", variables), 23);
  EXPECT_EQ(substitute("$$x r$step ${step/2}", variables), "$x r7 3.500000000");
  EXPECT_THROW(evaluate("1 +", {}), Mistake);
  EXPECT_THROW(evaluate("1 / 0", {}), Mistake);
  EXPECT_THROW(evaluate("(1", {}), Mistake);
}

}  // namespace
}  // namespace ddpscope::tests
