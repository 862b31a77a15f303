// Whether the order in which a rank reads its samples is a shuffle.
#pragma once
#include "collector/model/job.h"
#include "collector/patterns/training_reads.h"

namespace ddpscope::patterns {

// No shuffle: what is read one after the other are neighbours by some measure, nearer to each other than two
// samples at random by 40 % on the mean. Measures are name and offset (data read as it lies, also with
// folders in any order), length (a curriculum), and the inode of a file that holds one sample (a list written
// as the files were). Samples without a record have a name at most.
bool are_shuffled(const model::Job& job, const TrainingReads& reads);

}  // namespace ddpscope::patterns
