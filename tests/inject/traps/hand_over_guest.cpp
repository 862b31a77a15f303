// Threads that hand over to each other, one story a name: each touches files, by which the test tells its
// records.
#include "hand_over_guest.h"

using namespace hand_over;

int main(int argc, char** argv) {
  alarm(20);  // a wait that nobody ends
  for (const Stories* stories : {&kWaits, &kTakes, &kCrowds})
    if (auto story = stories->find(argc == 2 ? argv[1] : ""); story != stories->end()) return story->second();
  fputs("error: which story?\n", stderr);
  return 2;
}
