// Releases of one object (a lock, a semaphore) that add up: who acquires it comes after all of them.
#pragma once
#include "collector/ordering/graph.h"

namespace ddpscope::ordering {

class Accumulated {
 public:
  Accumulated(Graph& graph, EdgeKind kind) : graph_(graph), kind_(kind) {}

  void release(Node before, Trust trust = Trust::kSeen) {
    Node next = graph_.meeting();
    graph_.edge(so_far_, next, kind_, trust);
    graph_.edge(before, next, kind_, trust);
    so_far_ = next;
  }
  void acquire(Node after, Trust trust = Trust::kSeen) const { graph_.edge(so_far_, after, kind_, trust); }
  bool empty() const { return so_far_ == kNoNode; }

 private:
  Graph& graph_;
  EdgeKind kind_;
  Node so_far_ = kNoNode;
};

}  // namespace ddpscope::ordering
