// Facts of the job, rows of hosts, ranks and processes as bytes of the section kFacts.
#pragma once
#include <vector>

#include "collector/merged/bytes.h"
#include "collector/merged/rows.h"

namespace ddpscope::merged {

struct Facts {
  JobFacts job;
  std::vector<HostRow> hosts;
  std::vector<RankRow> ranks;
  std::vector<ProcessRow> processes;
};

void put_facts(const Facts& facts, ByteWriter& out);
Facts get_facts(ByteReader& in);

}  // namespace ddpscope::merged
