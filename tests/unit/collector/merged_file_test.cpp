// A merged file as its reader sees it: what was written comes back, nodes are what a look at each event
// gives.
#include <chrono>
#include <random>
#include <thread>

#include "collector/merged/process_tables.h"
#include "collector/merged/pyramid.h"
#include "collector/merged/writer.h"
#include "tests/tools/merged_walk.h"
#include "tests/unit/collector/merged_file.h"

namespace ddpscope::merged {
namespace {

// One rank, one host, one process.
Facts one_rank(std::int64_t duration_ns) {
  Facts facts;
  facts.job.duration_ns = duration_ns;
  facts.hosts.push_back({"node0", 0, 7, 0, {0}});
  RankRow row;
  row.rank = 0;
  row.host = 0;
  facts.ranks.push_back(row);
  ProcessRow process;
  process.name = "node0:1";
  facts.processes.push_back(process);
  return facts;
}

struct Given {
  std::int64_t begin_ns, end_ns;
  std::uint32_t name;
};

// A track with drawn gaps and lengths, some of them nothing, some huge.
std::vector<Given> drawn_events(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Given> events;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    at += static_cast<std::int64_t>(random() % 5     ? random() % 1000
                                    : random() % 100 ? 0
                                                     : random() % 1'000'000'000);
    auto length = static_cast<std::int64_t>(random() % 3 ? random() % 5000 : 0);
    events.push_back(
        {at, at + length, static_cast<std::uint32_t>(random() % 3 ? random() % 4 : random() % 300)});
    at += length;
  }
  return events;
}

class RoundTrip : public MergedFile, public testing::WithParamInterface<std::size_t> {};

TEST_P(RoundTrip, EveryEventComesBack) {
  std::vector<Given> given = drawn_events(GetParam(), GetParam());
  std::int64_t duration = given.back().end_ns;
  auto writer = Writer::create(file(), {duration, given.size(), 1});
  ASSERT_TRUE(writer);
  std::vector<std::uint32_t> names;
  for (int i = 0; i < 300; ++i)
    names.push_back(
        writer->name("name " + std::to_string(i), static_cast<Kind>(i % static_cast<int>(kKinds))));
  std::uint32_t track = writer->open_track({});
  for (std::size_t i = 0; i < given.size(); ++i) {
    Event event;
    event.begin_ns = given[i].begin_ns;
    event.end_ns = given[i].end_ns;
    event.name = names[given[i].name];
    event.open = i + 1 == given.size();
    CallSlot slot{};
    slot.thread = static_cast<std::uint16_t>(i % 7);
    EXPECT_EQ(writer->add(track, event, slot_of(slot)).index, i);
  }
  writer->close_rank(0, true);
  writer->settle();
  ByteWriter tables;
  ProcessTables().put(tables);
  writer->add_process(0, tables.bytes());
  auto failure = writer->finish({one_rank(duration), {}});
  ASSERT_FALSE(failure) << failure->what;

  auto reader = Reader::open(file());
  ASSERT_TRUE(reader) << reader.error().what;
  ASSERT_EQ(reader->tracks().size(), 1u);
  ASSERT_EQ(reader->tracks()[0].events, given.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    Event event = reader->event({0, i});
    ASSERT_EQ(event.begin_ns, given[i].begin_ns) << i;
    ASSERT_EQ(event.end_ns, given[i].end_ns) << i;
    ASSERT_EQ(reader->names()[event.name].text, "name " + std::to_string(given[i].name));
    ASSERT_EQ(static_cast<unsigned>(event.kind), given[i].name % kKinds);
    ASSERT_EQ(event.open, i + 1 == given.size());
  }
  for (std::size_t i : {std::size_t{0}, given.size() / 2, given.size() - 1}) {
    auto detail = reader->detail({0, i});
    ASSERT_TRUE(detail) << detail.error().what;
    EXPECT_EQ(detail->thread, i % 7);
    std::uint64_t first = reader->first_ending_after(0, given[i].begin_ns);
    std::size_t expected = 0;
    while (expected < given.size() && given[expected].end_ns <= given[i].begin_ns) ++expected;
    EXPECT_EQ(first, expected);
  }
  EXPECT_EQ(reader->first_ending_after(0, duration), given.size());
}

INSTANTIATE_TEST_SUITE_P(Sizes, RoundTrip,
                         testing::Values(1, 15, 16, 17, 128, 129, 2048, 2049, 4095, 4096, 4097, 9000,
                                         33'000));

TEST_F(MergedFile, NodesAreWhatALookAtEachEventGives) {
  Reader reader = generated(40'000, 3, 3, 5);
  for (std::uint32_t track = 0; track < reader.tracks().size(); ++track) {
    std::vector<Event> events;
    for (std::uint64_t i = 0; i < reader.tracks()[track].events; ++i)
      events.push_back(reader.event({track, i}));
    std::uint64_t each = kLeafEvents;
    for (unsigned level = 0; level < reader.tracks()[track].levels; ++level, each *= kFanOut) {
      std::span<const Node> nodes = reader.level(track, level);
      ASSERT_EQ(nodes.size(), (events.size() + each - 1) / each);
      for (std::size_t n = 0; n < nodes.size(); ++n) {
        Node expected{events[n * each].begin_ns, 0, 0, 0, 0, 0, 0};
        for (std::size_t i = n * each; i < std::min<std::size_t>(events.size(), (n + 1) * each); ++i) {
          expected.last_end_ns = events[i].end_ns;
          expected.busy_ns += static_cast<std::uint64_t>(events[i].end_ns - events[i].begin_ns);
          ++expected.count;
          expected.max_severity = std::max(expected.max_severity, events[i].severity);
          expected.kinds =
              static_cast<std::uint16_t>(expected.kinds | 1u << static_cast<unsigned>(events[i].kind));
        }
        ASSERT_EQ(nodes[n].first_ns, expected.first_ns);
        ASSERT_EQ(nodes[n].last_end_ns, expected.last_end_ns);
        ASSERT_EQ(nodes[n].busy_ns, expected.busy_ns);
        ASSERT_EQ(nodes[n].count, expected.count);
        ASSERT_EQ(nodes[n].max_severity, expected.max_severity);
        ASSERT_EQ(nodes[n].kinds, expected.kinds);
        ASSERT_TRUE(expected.kinds >> nodes[n].dominant_kind & 1);
      }
    }
  }
}

TEST_F(MergedFile, EvidenceStandsWhereItWasDrawn) {
  tests::MergedShape shape;
  shape.events = 50'000;
  shape.rows = 16;
  shape.findings = 6;
  auto made = tests::generate_merged(shape, file());
  ASSERT_TRUE(made);
  auto reader = Reader::open(file());
  ASSERT_TRUE(reader) << reader.error().what;
  ASSERT_EQ(reader->marks().size(), 6u);
  for (const tests::DrawnEvidence& drawn : made->evidence) {
    EventPlace place = reader->place_of(drawn.finding, 0);
    ASSERT_NE(place, kNoEvent);
    Event event = reader->event(place);
    EXPECT_EQ(event.begin_ns, drawn.begin_ns);
    EXPECT_EQ(event.end_ns, drawn.end_ns);
    EXPECT_GT(event.severity, kNoSeverity);
    EXPECT_EQ(reader->ranks()[reader->tracks()[place.track].rank_row].rank, drawn.rank);
    std::uint8_t worst = 0;
    for (const Cell& cell : reader->rank_cells(reader->row_of_rank(drawn.rank)))
      worst = std::max(worst, cell.max_severity);
    EXPECT_GE(worst, event.severity);
  }
}

TEST_F(MergedFile, CollectivesComeBackByRange) {
  Reader reader = generated(60'000, 12, 3);
  ASSERT_EQ(reader.communicators().size(), 1u);
  const CommunicatorRow& row = reader.communicators()[0];
  ASSERT_EQ(row.members.size(), 4u);
  auto all = reader.collectives(0, 0, row.collectives);
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), row.collectives);
  auto some = reader.collectives(0, 60, 70);
  ASSERT_TRUE(some);
  ASSERT_EQ(some->size(), 10u);
  EXPECT_EQ((*some)[5].sequence, 65u);
  for (const Collective& collective : *all)
    for (const Arrival& arrival : collective.arrivals)
      ASSERT_EQ(reader.event(arrival.event).begin_ns, arrival.begin_ns);
  std::uint64_t waited = 0;
  for (const CollectiveNode& node : reader.collective_level(0, 0)) waited += node.waited_ns;
  std::uint64_t above = 0;
  for (const CollectiveNode& node : reader.collective_level(0, row.levels - 1u)) above += node.waited_ns;
  EXPECT_EQ(waited, above);
}

TEST_F(MergedFile, SearchFindsEveryEventOfAName) {
  Reader reader = generated(30'000, 3, 3);
  std::vector<std::uint32_t> found = reader.find_names("REDUCE");
  ASSERT_EQ(found.size(), 2u);  // the call, and what the device did
  for (std::uint32_t name : found) {
    std::vector<bool> wanted(reader.names().size());
    wanted[name] = true;
    std::uint64_t count = 0;
    for (std::uint32_t track = 0; track < reader.tracks().size(); ++track)
      reader.for_each_named(track, wanted, [&](std::uint64_t, const Event& event) {
        EXPECT_EQ(event.name, name);
        return ++count, true;
      });
    EXPECT_EQ(count, reader.names()[name].count);
    EXPECT_GT(count, 0u);
  }
}

TEST_F(MergedFile, FindingsComeBackWhole) {
  auto writer = Writer::create(file(), {1000, 0, 1});
  ASSERT_TRUE(writer);
  Found found;
  findings::Finding finding;
  finding.slug = "missing-barrier";
  finding.title = "title \n with a break";
  finding.ranks = {0, 3};
  finding.files = {"/data/a", "/data/b"};
  finding.cost = {1.5, 77};
  finding.order.push_back({"before", "after", {{"edge", "none"}}});
  finding.evidence.push_back({3, "node1:9", -5, "open", "detail", "/data/a", {"a.py:1 f", "b.py:2 g"}});
  finding.place = {{0, 3}, 5, 6, true};
  finding.key = "key";
  finding.id = "id";
  found.outcome.findings.push_back(finding);
  found.outcome.coverage.push_back({"what", "why", {"straggler"}, true});
  found.outcome.first_failure = findings::FirstFailure{finding.evidence[0], "others"};
  found.outcome.failure = findings::JobFailure{{1, 2}, 2, 7, "ranks 1 and 2 exited with 1", {"id"}};
  found.problems.push_back({"what", "where", "hint"});
  writer->settle();
  auto failure = writer->finish({one_rank(1000), found});
  ASSERT_FALSE(failure);
  auto reader = Reader::open(file());
  ASSERT_TRUE(reader) << reader.error().what;
  const findings::Outcome& outcome = reader->outcome();
  ASSERT_EQ(outcome.findings.size(), 1u);
  const findings::Finding& back = outcome.findings[0];
  EXPECT_EQ(back.title, finding.title);
  EXPECT_EQ(back.files, finding.files);
  EXPECT_EQ(back.cost.ms_per_step, 1.5);
  EXPECT_EQ(back.order[0].looked_for[0].edge, "edge");
  EXPECT_EQ(back.evidence[0].stack, finding.evidence[0].stack);
  EXPECT_EQ(back.evidence[0].t_ns, -5);
  EXPECT_EQ(back.place.to_ns, 6);
  EXPECT_TRUE(outcome.coverage[0].entirely);
  EXPECT_EQ(outcome.first_failure->others, "others");
  EXPECT_EQ(outcome.failure->ranks, (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(outcome.failure->first_rank, 2);
  EXPECT_EQ(outcome.failure->t_ns, 7);
  EXPECT_EQ(outcome.failure->how, "ranks 1 and 2 exited with 1");
  EXPECT_TRUE(outcome.failure->explained());
  EXPECT_EQ(reader->problems()[0].hint, "hint");
  EXPECT_EQ(reader->tracks().size(), 0u);  // a job without an event
  tests::look_at_all(*reader);
}

TEST_F(MergedFile, TheSameMakesTheSameBytes) {
  generated(20'000, 8, 4);
  std::vector<unsigned char> first = bytes_of(file());
  generated(20'000, 8, 4);
  EXPECT_EQ(first, bytes_of(file()));
}

TEST_F(MergedFile, ThousandsOfRanksOpen) {
  Reader reader = generated(100'000, 10'000, 1);
  EXPECT_EQ(reader.ranks().size(), 10'000u);
  EXPECT_EQ(reader.hosts().size(), 1250u);
  EXPECT_GE(reader.columns(), 64u);
  EXPECT_EQ(reader.row_of_rank(9'999), 9'999u);
}

TEST_F(MergedFile, WhatIsWantedComes) {
  Reader reader = generated(300'000, 4, 4);
  std::uint64_t leaves = reader.nodes(0, 0);
  reader.want_leaves(0, 0, leaves);
  for (int i = 0; i < 2000 && !reader.leaves_ready(0, 0, leaves); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(reader.leaves_ready(0, 0, leaves));
  EXPECT_GT(reader.arrivals(), 0u);
}

}  // namespace
}  // namespace ddpscope::merged
