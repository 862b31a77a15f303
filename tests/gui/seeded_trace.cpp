// Jobs drawn from a seed, as merged files.
#include "tests/gui/seeded_trace.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <random>

#include "collector/merged/make.h"
#include "tests/tools/held_findings.h"
#include "tests/tools/text_trace.h"

namespace ddpscope::tests {

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "ddpscope-gui-XXXXXX").string();
  if (mkdtemp(name.data())) path_ = name;
}
TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::optional<merged::Reader> open_text(const std::string& text, const TemporaryFolder& folder,
                                        std::vector<merged::Reader>* previews) {
  auto compiled = compile_text_trace(text, folder.path() / "trace");
  if (!compiled) {
    ADD_FAILURE() << compiled.error().where << ": " << compiled.error().what;
    return std::nullopt;
  }
  reading::Silent silent;
  HeldFindings held;
  reading::Progress& progress = previews ? static_cast<reading::Progress&>(held) : silent;
  merged::TakePreview take;
  if (previews)
    take = [&](merged::Reader preview) {
      held.see(preview);
      previews->push_back(std::move(preview));
    };
  auto made = merged::write_merged(folder.path() / "trace", folder.path() / "merged.ddpm", progress, nullptr,
                                   -1, take);
  if (!made) {
    ADD_FAILURE() << made.error().what;
    return std::nullopt;
  }
  auto reader = merged::Reader::open(made->file);
  if (!reader) {
    ADD_FAILURE() << reader.error().what;
    return std::nullopt;
  }
  return std::move(*reader);
}

SkippedBarrier draw_skipped_barrier(unsigned seed) {
  std::mt19937 random(seed);
  auto draw = [&](int least, int most) { return std::uniform_int_distribution(least, most)(random); };
  SkippedBarrier job;
  job.ranks = 3 + draw(0, 3);
  job.faulty = draw(1, job.ranks - 1);
  int barrier_ms = draw(1000, 4000), early_ms = barrier_ms - draw(20, 300);
  job.early_ns = early_ms * std::int64_t{1'000'000};
  auto seconds = [](int ms) { return fmt::format("{}.{:03}", ms / 1000, ms % 1000); };
  job.text = fmt::format(
      "for r in 0..{0} {{\n"
      "  process r$r rank=$r world={1} pid=${{100+r}} until=30\n"
      "  r$r 0.100 +0.050 ncclCommInitRank communicator=1 id=0xabc rank=$r size={1} device=$r\n"
      "}}\n",
      job.ranks - 1, job.ranks);
  for (int rank = 0; rank < job.ranks; ++rank) {
    if (rank == job.faulty)
      job.text += fmt::format(
          "r{0} {1} +0.001 ncclBroadcast communicator=1 count=64K datatype=f32 peer=0 stream=0x7 "
          "buffer=0x200 stack=\"train.py:41 load\"\n",
          rank, seconds(early_ms));
    else
      job.text += fmt::format(
          "r{0} {1} +0.001 ncclAllReduce communicator=1 count=1 datatype=f32 stream=0x7 buffer=0x100 "
          "stack=\"data.py:88 prepare\"\n",
          rank, seconds(barrier_ms + rank * 3));
    job.text += fmt::format("r{} {} inside cudaStreamSynchronize stream=0x7\n", rank,
                            seconds((rank == job.faulty ? early_ms : barrier_ms + rank * 3) + 2));
  }
  return job;
}

SharedFile draw_shared_file(unsigned seed) {
  std::mt19937 random(seed);
  auto draw = [&](int least, int most) { return std::uniform_int_distribution(least, most)(random); };
  SharedFile job;
  job.ranks = 2 + draw(0, 2);
  job.path = fmt::format("/run/step_{:04}.bin", draw(1, 9999));
  int write_ms = draw(1500, 4000);
  job.write_ns = write_ms * std::int64_t{1'000'000};
  job.text = fmt::format(
      "for r in 0..{0} {{\n"
      "  process r$r rank=$r world={1} pid=${{100+r}} until=9\n"
      "  r$r 0.100 +0.050 ncclCommInitRank communicator=1 id=0xabc rank=$r size={1} device=$r\n"
      "  r$r ${{{2}+r*0.004}} +0.001 open path=\"{3}\" flags=wronly|creat|trunc file=1 stack=\"save.py:12 "
      "save\"\n"
      "  r$r ${{{2}+r*0.004+0.002}} +0.030 write file=1 offset=0 bytes=512K next=512K\n"
      "  r$r ${{{2}+r*0.004+0.034}} +0.001 close file=1\n"
      "}}\n",
      job.ranks - 1, job.ranks, write_ms / 1000.0, job.path);
  return job;
}

std::string golden(const std::string& name, int ranks) {
  std::ifstream file(std::filesystem::path(GOLDEN_FOLDER) / (name + ".txt"));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.empty()) ADD_FAILURE() << "there is no golden trace " << name;
  return fmt::format("let W = {}\n{}", ranks, text);
}

const char* const kHealthy = R"(
for r in 0..1 {
  process r$r rank=$r world=2 pid=${100+r} until=2
  r$r 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=$r size=2 device=$r
  r$r 1.0 +0.1 ncclAllReduce communicator=1 count=4 datatype=f32 stream=0x7
  r$r 1.2 +0.1 cudaStreamSynchronize stream=0x7
}
)";

const char* const kOneRank = R"(
process r0 rank=0 world=1 pid=100 until=2
r0 0.5 +0 open path="/run/a.bin" flags=wronly|creat|trunc file=1
r0 0.6 +0 write file=1 offset=0 bytes=4K next=4K
r0 0.7 +0 close file=1
)";

std::string healthy_ranks(int ranks) {
  return fmt::format(
      "for r in 0..{0} {{\n"
      "  process r$r rank=$r world={1} pid=${{1000+r}} until=2\n"
      "  r$r 0.1 +0.1 ncclCommInitRank communicator=1 id=0xabc rank=$r size={1} device=0\n"
      "  r$r 1.0 +0.001 ncclAllReduce communicator=1 count=4 datatype=f32 stream=0x7\n"
      "  r$r 1.1 +0.1 cudaStreamSynchronize stream=0x7\n"
      "}}\n",
      ranks - 1, ranks);
}

}  // namespace ddpscope::tests
