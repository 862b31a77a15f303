// Findings, coverage and what belongs to them as bytes of the section kFindings.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "collector/findings/finding.h"
#include "collector/merged/bytes.h"
#include "collector/merged/event.h"
#include "trace/result.h"

namespace ddpscope::merged {

using Accesses = std::map<std::string, std::vector<EventPlace>, std::less<>>;  // of files, by path

struct Found {
  findings::Outcome outcome;
  std::vector<Mark> marks;  // by event
  Accesses accesses;        // each by time
  std::vector<Error> problems;
};

void put_found(const Found& found, ByteWriter& out);
Found get_found(ByteReader& in);

}  // namespace ddpscope::merged
