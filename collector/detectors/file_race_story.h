// Races on files, told.
#pragma once
#include "collector/detectors/file_race_bugs.h"

namespace ddpscope::detectors {

// What tells a detector of races from another.
struct RaceKind {
  const char* slug;
  RaceCause cause;
  const char* why;  // ends the title
  const char* advice;
};

// The two accesses.
std::vector<findings::Evidence> evidence_of(const Facts& facts, const patterns::FileRace& race);

// Of pairs whose second rank asked for the file first and found it whole.
void add_asked_coverage(const Facts& facts, const char* slug, findings::Outcome& outcome);

// A finding for each bug of this kind, and what could not be judged.
void report_races(const Facts& facts, const RaceKind& kind, findings::Outcome& outcome);

}  // namespace ddpscope::detectors
