// Opens a merged file, and hands out what was read then.
#include "collector/merged/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "collector/merged/find_text.h"
#include "collector/merged/reader_state.h"

namespace ddpscope::merged {
namespace {

struct File {
  int fd;
  ~File() {
    if (fd >= 0) ::close(fd);
  }
};

Error cannot_read(const std::filesystem::path& path, int error) {
  return {std::string("cannot read the merged file: ") + std::strerror(error), path.string(),
          "name a file that `ddpscope export --format merged` wrote"};
}

std::optional<Error> map(int fd, const std::filesystem::path& path, trace::MappedFile& mapped) {
  struct stat status {};
  if (fd < 0 || ::fstat(fd, &status) != 0) return cannot_read(path, errno);
  if (S_ISDIR(status.st_mode)) return cannot_read(path, EISDIR);
  if (!S_ISREG(status.st_mode)) return cannot_read(path, EINVAL);
  mapped = trace::MappedFile::of(fd, static_cast<std::size_t>(status.st_size));
  if (status.st_size > 0 && mapped.bytes().empty()) return cannot_read(path, ENOMEM);
  return std::nullopt;
}

}  // namespace

bool is_merged_file(const std::filesystem::path& path) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return false;
  File file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
  char magic[sizeof(kMagic)];
  return file.fd >= 0 && ::pread(file.fd, magic, sizeof(magic), 0) == static_cast<ssize_t>(sizeof(magic)) &&
         std::memcmp(magic, kMagic, sizeof(magic)) == 0;
}

Reader::Reader(std::unique_ptr<State> state) : state_(std::move(state)) {}
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;
Reader::~Reader() = default;

std::optional<Error> Reader::State::read() {
  auto table = SectionTable::read(mapped.bytes(), path, data_bytes());
  if (!table) return table.error();
  sections = std::move(*table);
  if (!read_facts()) return damaged("facts of the job");
  if (!read_tracks()) return damaged("tracks");
  if (!read_findings()) return damaged("findings");
  if (!read_communicators()) return damaged("communicators");
  if (!read_cells()) return damaged("summary");
  residency = std::make_unique<Residency>(data_bytes());
  bring_in_overview();
  return std::nullopt;
}

Result<Reader> Reader::open(const std::filesystem::path& path) {
  File file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
  auto state = std::make_unique<State>();
  state->path = path;
  if (auto error = map(file.fd, path, state->mapped)) return *error;
  if (auto error = state->read()) return *error;
  return Reader(std::move(state));
}

Result<Reader> Reader::open_preview(int sections, int data, const std::filesystem::path& path, bool judged) {
  auto state = std::make_unique<State>();
  state->path = path;
  state->judged = judged;
  if (auto error = map(sections, path, state->mapped)) return *error;
  if (auto error = map(data, path, state->data)) return *error;
  if (auto error = state->read()) return *error;
  return Reader(std::move(state));
}

const std::filesystem::path& Reader::path() const { return state_->path; }
std::uint64_t Reader::bytes() const { return state_->mapped.bytes().size() + state_->data.bytes().size(); }
bool Reader::is_preview() const { return !state_->data.bytes().empty(); }
bool Reader::is_judged() const { return state_->judged; }
const JobFacts& Reader::job() const { return state_->facts.job; }
const findings::Outcome& Reader::outcome() const { return state_->found.outcome; }
const std::vector<Error>& Reader::problems() const { return state_->found.problems; }
const std::vector<HostRow>& Reader::hosts() const { return state_->facts.hosts; }
const std::vector<RankRow>& Reader::ranks() const { return state_->facts.ranks; }
const std::vector<Track>& Reader::tracks() const { return state_->tracks; }
const std::vector<ProcessRow>& Reader::processes() const { return state_->facts.processes; }
const std::vector<Name>& Reader::names() const { return state_->names; }
const std::vector<CommunicatorRow>& Reader::communicators() const { return state_->communicators; }
const std::vector<Mark>& Reader::marks() const { return state_->found.marks; }

std::uint32_t Reader::row_of_rank(std::int32_t rank) const {
  const auto& rows = state_->facts.ranks;
  auto found = std::partition_point(rows.begin(), rows.end(),
                                    [&](const RankRow& row) { return row.rank >= 0 && row.rank < rank; });
  return rank < 0 || found == rows.end() || found->rank != rank
             ? kNone
             : static_cast<std::uint32_t>(found - rows.begin());
}

std::span<const Mark> Reader::marks_of(std::uint32_t track) const {
  if (track >= state_->tracks.size()) return {};
  std::uint32_t first = state_->first_mark[track];
  return std::span(state_->found.marks).subspan(first, state_->first_mark[track + 1] - first);
}

EventPlace Reader::place_of(std::uint32_t finding, std::uint32_t evidence) const {
  auto found = state_->place_of_evidence.find({finding, evidence});
  return found == state_->place_of_evidence.end() ? kNoEvent : found->second;
}

std::span<const EventPlace> Reader::accesses_of(std::string_view path) const {
  auto found = state_->found.accesses.find(path);
  if (found == state_->found.accesses.end()) return {};
  return found->second;
}

std::vector<std::string> Reader::find_files(std::string_view part) const {
  std::vector<std::string> found;
  for (const auto& [path, accesses] : state_->found.accesses)
    if (contains_typed(path, part)) found.push_back(path);
  return found;
}

std::uint32_t Reader::columns() const { return state_->columns; }

std::span<const Cell> Reader::job_cells() const { return state_->cells.first(state_->columns); }

std::span<const Cell> Reader::host_cells(std::uint32_t host) const {
  if (host >= state_->facts.hosts.size()) return {};
  return state_->cells.subspan((std::size_t{1} + host) * state_->columns, state_->columns);
}

std::span<const Cell> Reader::rank_cells(std::uint32_t rank_row) const {
  if (rank_row >= state_->facts.ranks.size()) return {};
  return state_->cells.subspan((1 + state_->facts.hosts.size() + rank_row) * state_->columns,
                               state_->columns);
}

std::span<const std::uint32_t> Reader::ranks_in(Activity activity) const {
  auto number = static_cast<std::size_t>(activity);
  if (number >= kActivities) return {};
  return state_->activities.subspan(number * state_->columns, state_->columns);
}

std::uint64_t Reader::arrivals() const { return state_->residency->arrivals(); }
bool Reader::idle() const { return state_->residency->idle(); }
void Reader::on_arrival(std::function<void()> wake) { state_->residency->on_arrival(std::move(wake)); }
void Reader::forget_wishes() const { state_->residency->forget_wishes(); }
bool Reader::lost() const { return state_->mapped.lost() || state_->data.lost(); }

}  // namespace ddpscope::merged
