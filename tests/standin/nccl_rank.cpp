// Ranks of a test job meet by files in a folder of their own.
#include "nccl_rank.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace {

std::string required_environment(const char* name) {
  const char* value = std::getenv(name);
  if (!value) fail(__FILE__, __LINE__, std::string(name) + " is not set");
  return value;
}

std::string path_of(const std::string& name) { return job().directory + "/" + name; }

void publish(const std::string& name, const std::string& content) {
  const std::string temporary = path_of(name) + "." + std::to_string(job().rank);
  std::ofstream(temporary, std::ios::binary) << content;
  REQUIRE(rename(temporary.c_str(), path_of(name).c_str()) == 0);
}

}  // namespace

void fail(const char* file, int line, const std::string& what) {
  std::fprintf(stderr, "%s:%d: rank %s: %s\n", file, line, std::getenv("RANK"), what.c_str());
  _exit(1);
}

const Job& job() {
  static const Job mine{std::stoi(required_environment("RANK")),
                        std::stoi(required_environment("WORLD_SIZE")), required_environment("JOB_DIR")};
  return mine;
}

void leave_note(const std::string& name) { publish(name, ""); }

void await_note(const std::string& name) {
  struct stat status;
  if (!eventually([&] { return stat(path_of(name).c_str(), &status) == 0; })) {
    fail(__FILE__, __LINE__, "no note " + name);
  }
}

void await_notes_of_all(const std::string& name) {
  leave_note(name + std::to_string(job().rank));
  for (int rank = 0; rank < job().size; ++rank) await_note(name + std::to_string(rank));
}

ncclUniqueId passed_on(const std::string& name, int maker, const std::function<ncclUniqueId()>& make) {
  ncclUniqueId id;
  if (job().rank == maker) {
    id = make();
    publish(name, std::string(id.internal, sizeof id.internal));
  } else {
    await_note(name);
    std::ifstream file(path_of(name), std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    REQUIRE(content.size() == sizeof id.internal);
    std::memcpy(id.internal, content.data(), sizeof id.internal);
  }
  return id;
}

ncclUniqueId shared_id(const std::string& name, int maker) {
  return passed_on(name, maker, [] {
    ncclUniqueId id;
    REQUIRE_NCCL(ncclGetUniqueId(&id));
    return id;
  });
}

ncclComm_t make_communicator() {
  REQUIRE_CUDA(cudaSetDevice(job().rank));
  ncclComm_t comm = nullptr;
  REQUIRE_NCCL(ncclCommInitRank(&comm, job().size, shared_id("id"), job().rank));
  return comm;
}

std::vector<std::string> other_tasks() {
  std::vector<std::string> tasks;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string task = entry.path().filename();
    if (task != std::to_string(gettid())) tasks.push_back(task);
  }
  return tasks;
}

std::string task_status(const std::string& task, const std::string& name) {
  std::ifstream status("/proc/self/task/" + task + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":\t")) return line.substr(name.size() + 2);
  }
  return "";
}

int run_scenario(int argc, char** argv, std::initializer_list<Scenario> scenarios) {
  for (const Scenario& scenario : scenarios) {
    if (argc != 2 || std::string(argv[1]) != scenario.name) continue;
    scenario.run();
    return 0;
  }
  fail(__FILE__, __LINE__, "no such scenario");
}
