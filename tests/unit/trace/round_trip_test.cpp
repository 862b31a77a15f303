// What is written comes back: header, every call with every byte of its payload, strings, stacks, items.
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "tests/unit/trace/recording.h"
#include "trace/fields.h"
#include "trace/schema.h"

namespace ddpscope::trace {
namespace {

TEST(RoundTrip, HeaderSaysWhoWrites) {
  Recording recording;
  TraceFile trace = recording.read();
  EXPECT_EQ(trace.host(), "host");
  EXPECT_EQ(trace.header().host_id, 0x1234u);
  EXPECT_EQ(trace.header().pid, 42);
  EXPECT_EQ(trace.header().parent_pid, 41);
  EXPECT_EQ(trace.header().start_time, 777u);
  EXPECT_EQ(trace.header().parent_start_time, 666u);
  EXPECT_EQ(trace.header().clock, ClockKind::kMonotonicNs);
  EXPECT_EQ(trace.header().ended, 0u);
  EXPECT_TRUE(trace.damage().empty());
}

TEST(RoundTrip, FileIsNamedAfterTheProcessAndPrivate) {
  Recording recording;
  EXPECT_EQ(recording.file().path(), (recording.folder() / "host.42.777.ddps").string());
  struct stat status {};
  ASSERT_EQ(stat(recording.file().path(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST(RoundTrip, ExecGetsAFileOfItsOwn) {
  Recording recording;
  FileWriter after_exec{};
  ASSERT_TRUE(after_exec.open(recording.folder().c_str(), test_identity(), test_clock(), 1 << 20, false));
  EXPECT_EQ(after_exec.path(), (recording.folder() / "host.42.777.1.ddps").string());
}

TEST(RoundTrip, HostNameCannotLeaveTheFolder) {
  TemporaryFolder folder;
  Identity identity = test_identity();
  std::strcpy(identity.host, "../../etc/x");
  FileWriter file{};
  ASSERT_TRUE(file.open(folder.path().c_str(), identity, test_clock(), 1 << 20, false));
  EXPECT_EQ(file.path(), (folder.path() / ".._.._etc_x.42.777.ddps").string());
}

TEST(RoundTrip, MissingFolderIsMadePrivate) {
  TemporaryFolder parent;
  std::filesystem::path folder = parent.path() / "traces";
  FileWriter file{};
  ASSERT_TRUE(file.open(folder.c_str(), test_identity(), test_clock(), 1 << 20, false));
  struct stat status {};
  ASSERT_EQ(stat(folder.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
}

TEST(RoundTrip, LinkInPlaceOfTheFileIsNotFollowed) {
  TemporaryFolder folder;
  std::filesystem::create_symlink(folder.path() / "elsewhere", folder.path() / "host.42.777.ddps");
  FileWriter file{};
  ASSERT_TRUE(file.open(folder.path().c_str(), test_identity(), test_clock(), 1 << 20, false));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "elsewhere"));
}

TEST(RoundTrip, FolderThatCannotBeWrittenIsRefused) {
  TemporaryFolder folder;
  std::filesystem::path not_a_folder = folder.path() / "file";
  std::ofstream(not_a_folder) << "x";
  FileWriter file{};
  EXPECT_FALSE(file.open(not_a_folder.c_str(), test_identity(), test_clock(), 1 << 20, false));
  EXPECT_FALSE(file.is_open());
}

// A payload whose every byte is different, and different for each call.
std::array<unsigned char, kPayloadBytes> pattern(std::size_t call) {
  std::array<unsigned char, kPayloadBytes> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(call * 7 + i * 3 + 1);
  return bytes;
}

TEST(RoundTrip, EveryCallKeepsItsPayload) {
  Recording recording;
  std::vector<CallInfo> calls(std::begin(kCalls), std::end(kCalls));
  auto by_number = [](const CallInfo& a, const CallInfo& b) { return a.call < b.call; };
  std::sort(calls.begin(), calls.end(), by_number);  // and so by begin, as in every recording
  for (const CallInfo& call : calls) {
    auto number = static_cast<std::size_t>(call.call);
    OpenRecord open =
        recording.thread().open_in(recording.file(), call.call, call.budget, pattern(number).data(),
                                   info_of(call.payload).bytes, 10 * number, 0);
    ASSERT_TRUE(open) << call.symbol;
    ThreadWriter::close(recording.file(), open, 10 * number + 5);
  }
  TraceFile trace = recording.read();
  std::vector<Record> records = all_records(trace);
  EXPECT_EQ(records.size(), std::size(kCalls));
  for (const Record& record : records) {
    const CallInfo* call = find_call(record.call);
    ASSERT_TRUE(call);
    EXPECT_EQ(record.begin, 10u * record.call);
    EXPECT_EQ(record.end, 10u * record.call + 5);
    EXPECT_EQ(record.thread, 1);
    auto expected = pattern(record.call);
    std::size_t bytes = info_of(call->payload).bytes;
    EXPECT_EQ(std::memcmp(record.payload, expected.data(), bytes), 0) << call->symbol;
    for (std::size_t i = bytes; i < kPayloadBytes; ++i) EXPECT_EQ(record.payload[i], 0) << call->symbol;
  }
}

TEST(RoundTrip, ResultsAreFilledInBeforeTheEnd) {
  Recording recording;
  OpenRecord open = recording.open_kept(recording.thread(), 5);
  open.payload<payload::Collective>().result = 3;
  recording.close(open);
  EXPECT_EQ(payload_of<payload::Collective>(all_records(recording.read()).at(0)).result, 3);
}

TEST(RoundTrip, PaddingOfAPayloadIsNotWritten) {
  Recording recording;
  payload::Device device;
  static_assert(sizeof(device) > kContentBytes<payload::Device>);
  std::memset(&device, 0xEE, sizeof(device));  // as on a guest's stack
  recording.close(recording.thread().open<Call::cudaSetDevice>(recording.file(), device, next_tick()));
  Record record = all_records(recording.read()).at(0);
  for (std::size_t i = 0; i < kPayloadBytes; ++i)
    EXPECT_EQ(record.payload[i], i < kContentBytes<payload::Device> ? 0xEE : 0) << i;
}

TEST(RoundTrip, RecordIsVisibleBeforeItsEnd) {
  Recording recording;
  OpenRecord open = recording.open_kept(recording.thread(), 5);
  EXPECT_EQ(all_records(recording.read()).at(0).end, 0u);
  recording.close(open);
  EXPECT_NE(all_records(recording.read()).at(0).end, 0u);
}

TEST(RoundTrip, StringsHaveOneIdEach) {
  Recording recording;
  ThreadWriter& thread = recording.thread();
  std::uint32_t first = thread.intern(recording.file(), "data/train.csv");
  std::uint32_t second = thread.intern(recording.file(), "data/valid.csv");
  EXPECT_NE(first, 0u);
  EXPECT_NE(first, second);
  EXPECT_EQ(thread.intern(recording.file(), "data/train.csv"), first);
  EXPECT_EQ(thread.intern(recording.file(), nullptr), 0u);
  std::string binary("a\0b\n\"", 5);
  std::uint32_t odd = thread.intern(recording.file(), binary.data(), binary.size());
  std::uint32_t empty = thread.intern(recording.file(), "");
  TraceFile trace = recording.read();
  EXPECT_EQ(trace.string(first), "data/train.csv");
  EXPECT_EQ(trace.string(second), "data/valid.csv");
  EXPECT_EQ(trace.string(odd), binary);
  EXPECT_NE(empty, 0u);
  EXPECT_EQ(trace.string(empty), "");
  EXPECT_EQ(trace.string(999), "");
}

TEST(RoundTrip, LongStringIsCutAndNotLost) {
  Recording recording;
  std::string path(100'000, 'x');
  std::uint32_t id = recording.thread().intern(recording.file(), path.data(), path.size());
  EXPECT_EQ(recording.read().string(id), std::string(kMaxPath * 8, 'x'));
}

TEST(RoundTrip, StacksHaveOneIdEach) {
  Recording recording;
  ThreadWriter& thread = recording.thread();
  std::uint32_t file = thread.intern(recording.file(), "train.py");
  StackFrame frames[] = {{FrameKind::kPython, file, 0, 88, 0}, {FrameKind::kNative, file, 0, 0, 0xABCDEF}};
  std::uint32_t both = thread.intern_stack(recording.file(), frames, 2);
  std::uint32_t one = thread.intern_stack(recording.file(), frames, 1);
  EXPECT_NE(both, one);
  EXPECT_EQ(thread.intern_stack(recording.file(), frames, 2), both);
  TraceFile trace = recording.read();
  ASSERT_EQ(trace.stack(both).size(), 2u);
  EXPECT_EQ(trace.string(trace.stack(both)[0].file), "train.py");
  EXPECT_EQ(trace.stack(both)[0].line, 88u);
  EXPECT_EQ(trace.stack(both)[1].address, 0xABCDEFu);
  EXPECT_EQ(trace.stack(one).size(), 1u);
  EXPECT_TRUE(trace.stack(0).empty());
}

TEST(RoundTrip, ItemsKeepTheirOrder) {
  Recording recording;
  for (std::uint32_t i = 0; i < 10'000; ++i)
    ASSERT_TRUE(recording.thread().add_item(recording.file(), {i * 100u, 100, i}));
  TraceFile trace = recording.read();
  std::uint32_t next = 0;
  for (const ItemSpan& span : trace.items())
    for (const ItemRead& item : span.items) {
      EXPECT_EQ(item.file, next);
      EXPECT_EQ(item.offset, next * 100u);
      ++next;
    }
  EXPECT_EQ(next, 10'000u);
}

TEST(RoundTrip, FileCarriesItsSchema) {
  Recording recording;
  recording.thread().write_schema(recording.file(), kSchemaText, kSchemaBytes);
  TraceFile trace = recording.read();
  EXPECT_EQ(trace.schema(), std::string_view(kSchemaText, kSchemaBytes));
  EXPECT_NE(trace.schema().find("call 1 ncclAllReduce Collective kept\n"), std::string_view::npos);
  EXPECT_NE(trace.schema().find("payload Setting name:u32:text value:u32:text"), std::string_view::npos);
}

}  // namespace
}  // namespace ddpscope::trace
